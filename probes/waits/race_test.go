package waits_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
	"github.com/pgsonde/pgsonde/probes/waits"
)

// races are sessions that want rows and keys of one that ends, each inside BEGIN so
// that it keeps what it gets.
type races struct {
	t       *testing.T
	rng     *rand.Rand
	dsn     string
	mon     *pgx.Conn
	sampler *probes.Sampler

	exact, ranges, ran, gates, shared, many, circles, about int
}

type racer struct {
	pg   *pgconn.PgConn
	did  []string // its statements, the last one may wait
	done chan error
	over bool
	err  error
}

const racers = 6

// TestRaces ends the holder of rows and keys that others want and counts who runs:
// no fewer than promised for sure, no more than promised at most. PGSONDE_RACES says
// how often on each major.
func TestRaces(t *testing.T) {
	if testing.Short() {
		t.Skip("ends sessions of real servers")
	}
	n, _ := strconv.Atoi(os.Getenv("PGSONDE_RACES"))
	if n == 0 {
		n = 15
	}
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("PGSONDE_RACES_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		t.Logf("seed %d", seed)
		r := newRaces(t, in, seed)
		told := func() bool {
			return r.exact > 0 && r.ran > 0 && r.gates > 0 && r.shared > 0 && r.many > 0 && r.circles > 0
		}
		for i := 0; (i < n || i < 20*n && !told()) && !t.Failed(); i++ {
			r.round()
		}
		t.Logf("%d exact figures, %d ranges, %d sessions ran; %d rounds about a table, %d about shared rows, %d about several, %d about circles, %d about several tables", r.exact, r.ranges, r.ran, r.gates, r.shared, r.many, r.circles, r.about)
		if !told() && !t.Failed() {
			t.Errorf("nothing is told")
		}
	})
}

func newRaces(t *testing.T, in pgserver.Install, seed uint64) *races {
	srv := pgtest.Start(t, in, pgserver.Options{Settings: map[string]string{"deadlock_timeout": "600s", "autovacuum": "off"}})
	dsn := srv.DSN("postgres", "postgres")
	s, err := probes.Open(t.Context(), probes.Options{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &races{t: t, rng: rand.New(rand.NewPCG(seed, uint64(in.Major))), dsn: dsn, mon: pgtest.Connect(t, dsn), sampler: s}
}

func (r *races) exec(sql string) {
	r.t.Helper()
	if _, err := r.mon.Exec(r.t.Context(), sql); err != nil {
		r.t.Fatalf("%s: %v", sql, err)
	}
}

// open makes the tables and so many sessions, each inside BEGIN.
func (r *races) open(n int) []*racer {
	r.t.Helper()
	r.exec(`drop table if exists r, u, w, item, kid, two, part cascade; create table two(a int primary key, b int unique); create table r(id int primary key, v int); insert into r select g, 0 from generate_series(1, 3) g union all select g, 0 from generate_series(101, 108) g;
		create table u(id int primary key); create table w(id serial primary key, mail text unique); create table item(id serial primary key, r int); create table kid(r int references r);
		create table part(id int) partition by range (id); create table part1 partition of part for values from (0) to (10); create table part2 partition of part for values from (10) to (20);
		insert into part values (1), (11); create view seen as select from r, u;
		create or replace function bump() returns trigger language plpgsql as 'begin update r set v = v + 1 where id = new.r; return new; end';
		create trigger bump after insert on item for each row execute function bump()`)
	all := make([]*racer, n)
	for i := range all {
		pg, err := pgconn.Connect(r.t.Context(), r.dsn)
		if err != nil {
			r.t.Fatal(err)
		}
		all[i] = &racer{pg: pg}
		all[i].run("begin")
		r.settle(all[:i+1])
	}
	return all
}

// close ends all sessions, those that wait first.
func (r *races) close(all []*racer) {
	r.exec("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend' and application_name not like 'pgsonde%'")
	for _, x := range all {
		if x.done != nil {
			<-x.done
		}
		_ = x.pg.Close(context.Background())
	}
}

// do runs a statement until it has ended or waits.
func (r *races) do(all []*racer, x *racer, sql string) {
	r.t.Helper()
	x.run(sql)
	r.settle(all)
}

// round: a holder, before it at times another that commits, so that those who want
// its rows follow them; then everybody who wants something; then the holder's end.
func (r *races) round() {
	all := r.open(racers + 2)
	defer r.close(all)
	switch r.rng.IntN(6) {
	case 0:
		r.gate(all)
		return
	case 1:
		r.sharing(all)
		return
	case 2:
		r.several(all)
		return
	case 3:
		r.circling(all)
		return
	case 4:
		r.tables(all)
		return
	}
	first, holder, rest := all[0], all[1], all[2:]
	early := r.rng.IntN(3)
	for _, x := range rest[:early] { // who share-lock rows before, and write to none: see sharers
		r.do(all, x, r.share())
	}
	r.do(all, holder, "insert into u values (1), (2); insert into w(mail) values ('a')")
	rows := []string{"", " where id > 1"}
	if early > 0 {
		rows = []string{" where id = 1"} // one that waits wants one thing only
	}
	if early == 0 && r.rng.IntN(2) == 0 {
		r.do(all, first, "update r set v = v + 1")
		rows = []string{" where id = 1"}
	}
	r.do(all, holder, "update r set v = v + 1"+rows[r.rng.IntN(len(rows))])
	for i, x := range rest[:1+r.rng.IntN(len(rest))] {
		switch {
		case !x.finished():
		case i < early:
			r.do(all, x, r.share())
		default:
			r.do(all, x, r.want())
		}
	}
	r.do(all, first, "commit")
	r.end(all)
}

// want is what one of them does.
func (r *races) want() string {
	row, key := r.row(), 1+r.rng.IntN(2)
	switch r.rng.IntN(14) {
	case 0, 1:
		return fmt.Sprintf("update r set v = v + 1 where id = %d", row)
	case 12, 13:
		return fmt.Sprintf("update r set id = id + 10 where id = %d", row)
	case 2:
		return fmt.Sprintf("delete from r where id = %d", row)
	case 3, 4:
		return fmt.Sprintf("select * from r where id = %d for %s", row, []string{"update", "no key update"}[r.rng.IntN(2)])
	case 5:
		return fmt.Sprintf("insert into item(r) values (%d)", row)
	case 6:
		return "insert into w(mail) values ('a')"
	case 7, 8:
		return r.share()
	case 9:
		return fmt.Sprintf("insert into u values (%d) on conflict do nothing", key)
	}
	return fmt.Sprintf("insert into u values (%d)", key)
}

// share locks a row as others may, too.
func (r *races) share() string {
	row := r.row()
	switch r.rng.IntN(3) {
	case 0:
		return fmt.Sprintf("insert into kid values (%d)", row)
	case 1:
		return fmt.Sprintf("select * from r where id = %d for key share", row)
	}
	return fmt.Sprintf("select * from r where id = %d for share", row)
}

func (x *racer) run(sql string) {
	x.did, x.over, x.done = append(x.did, sql), false, make(chan error, 1)
	go func(done chan error) {
		if strings.Contains(sql, "$1") {
			done <- x.pg.ExecParams(context.Background(), sql, [][]byte{[]byte("1")}, nil, nil, nil).Read().Err
			return
		}
		_, err := x.pg.Exec(context.Background(), sql).ReadAll()
		done <- err
	}(x.done)
}

func (x *racer) finished() bool {
	if x.done != nil && !x.over {
		select {
		case x.err = <-x.done:
			x.over, x.done = true, nil
		default:
			return false
		}
	}
	return true
}

// settle waits until each has finished or waits for another of them.
func (r *races) settle(all []*racer) {
	r.t.Helper()
	var pids []string
	for _, x := range all {
		pids = append(pids, strconv.Itoa(int(x.pg.PID())))
	}
	set := "array[" + strings.Join(pids, ", ") + "]::int[]"
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		var busy []string
		for i, x := range all {
			if !x.finished() {
				busy = append(busy, pids[i])
			}
		}
		var ok bool
		if err := r.mon.QueryRow(r.t.Context(), "select not exists (select from unnest(array["+strings.Join(busy, ", ")+"]::int[]) w where not pg_blocking_pids(w) && "+set+")").Scan(&ok); err != nil {
			r.t.Fatal(err)
		}
		if ok {
			return
		}
	}
	r.t.Fatal("they never come to rest")
}

// forest is a reading, nil when it is late.
func (r *races) forest() *waits.Forest {
	f, _ := r.read()
	return f
}

// whole is a reading that is not late and knows who else may have a row.
func (r *races) whole() *waits.Forest {
	r.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if f, l := r.read(); f != nil && l != nil && !l.Untouched {
			return f
		}
	}
	r.t.Fatal("no reading is whole")
	return nil
}

func (r *races) read() (*waits.Forest, *probes.Locks) {
	s, err := r.sampler.Tick(r.t.Context(), probes.Want{Locks: true})
	if err != nil {
		r.t.Fatal(err)
	}
	f := waits.Build(s, s.Locks, nil)
	if f.Late != "" {
		return nil, nil
	}
	return f, s.Locks
}

// end ends the holder of the largest tree.
func (r *races) end(all []*racer) {
	if f := r.forest(); f != nil && len(f.Trees) > 0 {
		r.endOf(all, f, f.Trees[0].Root.Key)
	}
}

// endOf ends one and counts who runs.
func (r *races) endOf(all []*racer, f *waits.Forest, who waits.Key) { r.endAfter(0, all, f, who) }

// endAfter ends one that long after the reading, and counts who runs since then.
func (r *races) endAfter(pause time.Duration, all []*racer, f *waits.Forest, who waits.Key) {
	end := f.WhatIf(who)
	var rest, waiting []*racer
	for _, x := range all {
		if int(x.pg.PID()) != who.PID {
			rest = append(rest, x)
			if !x.finished() {
				waiting = append(waiting, x)
			}
		}
	}
	var table string
	if err := r.mon.QueryRow(r.t.Context(), "select string_agg(l::text, E'\\n') from pg_locks l where locktype in ('transactionid', 'tuple') or not granted").Scan(&table); err != nil {
		r.t.Fatal(err)
	}
	time.Sleep(pause)
	r.exec(fmt.Sprintf("select pg_terminate_backend(%d, 60000)", who.PID))
	r.settle(rest)
	ran, most := 0, end.Most
	for _, x := range waiting {
		if x.finished() {
			ran++
			if x.err != nil { // its transaction is over, and the next in turn may run
				most = len(end.Frees)
			}
		}
	}
	if ran < end.Direct || ran > most {
		r.t.Errorf("ending %v: %d ran, promised %d to %d of %v\n%s%s", who, ran, end.Direct, end.Most, end.Frees, texts(rest), table)
	}
	r.ran += ran
	if end.Direct == end.Most {
		r.exact++
	} else {
		r.ranges++
	}
}
