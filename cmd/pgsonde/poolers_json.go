package main

import (
	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/bouncer"
)

type poolersDoc struct {
	Schema   string           `json:"schema"`
	At       *string          `json:"at"` // the server's clock; null without a server
	Server   *poolersServer   `json:"server"`
	Poolers  []poolerDoc      `json:"poolers"`
	Findings []probes.Finding `json:"findings"`
	Notes    []string         `json:"notes"`
}

type poolersServer struct {
	Target     string `json:"target"`
	VersionNum int    `json:"version_num"`
	Usable     int    `json:"usable"`
	Masked     bool   `json:"masked"`
}

type poolerDoc struct {
	Name        string        `json:"pooler"`
	Stale       bool          `json:"stale"`          // an instance's figures in the sums are old or missing
	Read        int           `json:"instances_read"` // those that the sums are of
	ClientsUsed *int          `json:"clients_used"`
	ClientsMax  *int          `json:"clients_max"`
	Servers     serverSideDoc `json:"servers"`
	Instances   []instanceDoc `json:"instances"`
	Pools       []poolDoc     `json:"pools"`
	Roles       []clientsDoc  `json:"clients_by_role"`
}

type serverSideDoc struct {
	Now    *int `json:"now"` // null, as all of it: no console was read
	Active *int `json:"active"`
	Idle   *int `json:"idle"`
	Cap    *int `json:"cap"`
	Usable *int `json:"usable"`
}

type instanceDoc struct {
	Target      string   `json:"target"`
	Version     *string  `json:"version"`
	At          *string  `json:"at"`
	TookS       float64  `json:"took_s"`
	Error       *string  `json:"error"`
	Stale       bool     `json:"stale"` // error is why its figures are of an earlier reading
	AgeS        *float64 `json:"age_s"` // of its figures; null: never read
	Paused      *bool    `json:"paused"`
	Suspended   *bool    `json:"suspended"`
	ClientsUsed *int     `json:"clients_used"`
	ClientsMax  *int     `json:"clients_max"`
	Missing     []string `json:"missing"`
}

type poolDoc struct {
	Target         string       `json:"target"` // of the instance
	Database       string       `json:"database"`
	User           string       `json:"user"`
	ServerDatabase string       `json:"server_database"`
	ServerUser     string       `json:"server_user"`
	Mode           string       `json:"mode"`
	ClientsActive  int          `json:"clients_active"`
	ClientsIdle    int          `json:"clients_idle"`
	ClientsWaiting int          `json:"clients_waiting"`
	CancelsWaiting int          `json:"cancels_waiting"`
	MaxWaitS       float64      `json:"max_wait_s"`
	Active         int          `json:"servers_active"`
	Idle           int          `json:"servers_idle"`
	Used           int          `json:"servers_used"`
	Tested         int          `json:"servers_tested"`
	Login          int          `json:"servers_login"`
	Size           *int         `json:"size"` // null: unlimited
	Reserve        int          `json:"reserve"`
	Paused         bool         `json:"paused"`
	Disabled       bool         `json:"disabled"`
	Cause          *string      `json:"cause"` // null: nobody waits
	Why            *string      `json:"why"`
	Refused        *string      `json:"refused"`
	Roots          []rootDoc    `json:"roots"`
	Servers        []backendDoc `json:"servers"`
	Stale          bool         `json:"stale"` // as of its instance
}

type rootDoc struct {
	PID       int     `json:"pid"`
	BackendID *string `json:"backend_id"`
	Role      *string `json:"role"`
	Victims   int     `json:"victims"`
}

type backendDoc struct {
	PID       int      `json:"pid"`
	BackendID *string  `json:"backend_id"`
	State     string   `json:"state"` // in PgBouncer
	Role      *string  `json:"role"`
	Doing     *string  `json:"doing"` // null: not in the snapshot
	ForS      *float64 `json:"for_s"`
	Roots     []int    `json:"roots"`
}

type clientsDoc struct {
	Role              *string `json:"role"` // null: not known
	Clients           int     `json:"clients"`
	Linked            int     `json:"linked"`
	Waiting           int     `json:"waiting"`
	Idle              int     `json:"idle"`
	MaxWaitS          float64 `json:"max_wait_s"`
	LockWaiting       int     `json:"lock_waiting"`
	IdleInTransaction int     `json:"idle_in_transaction"`
}

func poolersDocument(views []*bouncer.View, findings []probes.Finding, s scene) poolersDoc {
	d := poolersDoc{Schema: "pgsonde/poolers/1", Poolers: []poolerDoc{}, Findings: emptyNotNull(findings), Notes: emptyNotNull(s.notes)}
	if s.snap != nil {
		srv := s.snap.Server
		d.At = stamp(s.snap.At)
		d.Server = &poolersServer{srv.Target, srv.VersionNum, s.snap.Limits.Usable(), srv.Masked}
	}
	for _, v := range views {
		p := poolerDoc{
			Name: v.Name, Stale: v.Stale(), Read: v.Read, ClientsUsed: v.ClientsUsed, ClientsMax: v.ClientsMax, Instances: []instanceDoc{}, Pools: []poolDoc{}, Roles: []clientsDoc{},
			Servers: serverSideDoc{Cap: v.Servers.Cap, Usable: v.Servers.Usable},
		}
		if v.Read > 0 {
			p.Servers.Now, p.Servers.Active, p.Servers.Idle = &v.Servers.Now, &v.Servers.Active, &v.Servers.Idle
		}
		for _, in := range v.Instances {
			p.Instances = append(p.Instances, instanceDoc{
				in.Target, orNull(in.Version), stamp(in.At), in.Took.Seconds(), orNull(in.Err), in.OldS > 0, ageOf(in), in.Paused, in.Suspended,
				in.ClientsUsed, in.ClientsMax, emptyNotNull(in.Missing),
			})
		}
		for i := range v.Pools {
			p.Pools = append(p.Pools, poolDocument(v, &v.Pools[i]))
		}
		for _, r := range v.Roles {
			p.Roles = append(p.Roles, clientsDoc{orNull(r.Role), r.Clients, r.Linked, r.Waiting, r.Idle, r.MaxWaitS, r.Lock, r.IdleInTx})
		}
		d.Poolers = append(d.Poolers, p)
	}
	return d
}

func poolDocument(v *bouncer.View, p *bouncer.PoolView) poolDoc {
	d := poolDoc{
		Target: v.Instances[p.Instance].Target, Database: p.Database, User: p.User,
		ServerDatabase: p.ServerDatabase, ServerUser: p.ServerUser, Mode: p.Mode,
		ClientsActive: p.ClientsActive, ClientsIdle: p.ClientsIdle, ClientsWaiting: p.ClientsWaiting,
		CancelsWaiting: p.CancelsWaiting, MaxWaitS: p.MaxWaitS,
		Active: p.Active, Idle: p.Idle, Used: p.Used, Tested: p.Tested, Login: p.Login, Reserve: p.Reserve,
		Paused: p.Paused, Disabled: p.Disabled, Cause: orNull(string(p.Cause)), Why: orNull(p.Why), Refused: orNull(p.Refused),
		Roots: []rootDoc{}, Servers: []backendDoc{}, Stale: p.OldS > 0,
	}
	if p.Size > 0 {
		d.Size = &p.Size
	}
	for _, r := range p.Roots {
		x := rootDoc{PID: r.PID, Role: orNull(r.Role), Victims: r.Victims}
		if r.Session != nil {
			x.BackendID = orNull(r.Session.BackendID())
		}
		d.Roots = append(d.Roots, x)
	}
	for _, b := range p.Backends {
		x := backendDoc{PID: b.PID, State: b.State, Role: orNull(b.Role), Doing: orNull(string(b.Doing)), Roots: emptyNotNull(b.Roots)}
		if b.Session != nil {
			x.BackendID, x.ForS = orNull(b.Session.BackendID()), &b.ForS
		}
		d.Servers = append(d.Servers, x)
	}
	return d
}

// ageOf is the age of an instance's figures, null when there are none.
func ageOf(in bouncer.InstanceView) *float64 {
	if in.At.IsZero() {
		return nil
	}
	return &in.OldS
}
