package demo

import (
	"context"

	"github.com/pgsonde/pgsonde/probes/pgserver"
)

// Addresses of the pods. Only Linux answers on all of them; elsewhere they all
// come from 127.0.0.1.
const (
	podA = "127.0.0.11"
	podB = "127.0.0.12"
)

// troubled are those who are in the troubles or need none but the small tables.
// With the readers they are 31 at the worst moment, of 37 that fit.
func troubled() []client {
	return append([]client{
		pod("api", podA, nil, hotHolder),
		pod("api", podA, nil, apiWork(0, 35)),
		pod("api", podA, nil, apiWork(0, 35.5)),
		pod("api", podA, []span{{0, 68}}, apiWork(0, 36)), // overflow
		pod("api", podA, []span{{0, 68}}, apiWork(0, 36.5)),
		pod("api-listen", podA, nil, listen),

		pod("api", podB, nil, apiWork(6, 38)),
		pod("api", podB, nil, apiWork(9, 40)),
		pod("api", podB, nil, apiWork(12, 42)),
		pod("api", podB, []span{{14, 31}, {43, 62}}, apiWork(14, 43)), // overflow
		pod("api", podB, []span{{17, 31}, {45, 62}}, apiWork(17, 45)),
		pod("api-listen", podB, nil, listen),

		pod("scheduler", "127.0.0.21", nil, schedulerPass),
		pod("scheduler", "127.0.0.21", nil, apiWork(20, 48)),
		pod("scheduler", "127.0.0.21", nil, lightWork),
		pod("reconciler", "127.0.0.22", nil, passHolder),
		pod("reconciler", "127.0.0.22", nil, passWaiter),
		pod("reconciler", "127.0.0.22", nil, apiWork(24, 52)),

		pod("metrics-exporter", "127.0.0.32", nil, exporter),
		pod("metrics-exporter", "127.0.0.32", nil, exporter),

		pod("migrate", "127.0.0.41", []span{{33, 66}}, migrate),
		pod("migrate", "127.0.0.42", []span{{38, 66}}, migrate),
	}, people()...)
}

// readers are those who read the large table.
func readers() []client {
	return append(append(pagers(), unmatched()...), pod("metrics", "127.0.0.31", nil, aggregates))
}

// pod is one connection of a role of werft.
func pod(role, addr string, when []span, turn func(context.Context, *player) error) client {
	who := pgserver.ConnOptions{User: "werft", Database: database, AppName: "werft:" + role, TCP: true, LocalAddr: addr}
	return client{who: who, when: when, turn: turn}
}

// people are psql sessions on the socket.
func people() []client {
	psql := func(user string, turn func(context.Context, *player) error) client {
		return client{who: pgserver.ConnOptions{User: user, Database: database, AppName: "psql"}, turn: turn}
	}
	return []client{psql("dana", longReader), psql("sam", lookAround)}
}

// unmatched are the connections of a tool that sends no application_name.
func unmatched() []client {
	etl := func(turn func(context.Context, *player) error) client {
		return client{who: pgserver.ConnOptions{User: "etl", Database: database, TCP: true, LocalAddr: "127.0.0.51"}, turn: turn}
	}
	return []client{etl(forgotten), etl(extract), etl(extract), etl(extract)}
}
