package probes

// Pooler is what the admin consoles of one pooler said, as far as the server behind
// it and the budget are concerned. Package bouncer makes it of its readings,
// package budget holds the snapshot against it. A nil pointer is unknown.
type Pooler struct {
	Name string // as in the budget file
	// AgeS is how many seconds before the snapshot its consoles were read; of
	// several the one that was read first.
	AgeS float64
	// Whole: every process of it was read, so that a session which was there then
	// and is none of Servers is not the pooler's.
	Whole   bool
	Servers []PoolerServer

	MaxClients *int // max_client_conn of each process; the smallest where they differ
	MostNow    *int // clients that all processes together let in
	Clients    *int // … and have now
	Pools      []PoolerPool
}

// PoolerServer is one connection of a pooler to its server.
type PoolerServer struct {
	PID            int    // of the backend; 0 while it logs in
	Port           int    // its own end's TCP port, 0 for a Unix socket
	Database, User string // on the server
}

// PoolerPool is one pool, as each process has it.
type PoolerPool struct {
	Database, User             string // as clients name them
	ServerDatabase, ServerUser string
	Size, Reserve, Min         int    // Size 0 is unlimited; Min are kept open
	Mode                       string // session, transaction, statement
	// MostOfDatabase is the max_db_connections that all pools of Database share in a
	// process, MostOfUser the max_user_connections of User; 0 is no limit, nil not told.
	MostOfDatabase, MostOfUser *int
}
