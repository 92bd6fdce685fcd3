package pgserver

import "maps"

// settingsFor are ours for a cluster nobody keeps, under the caller's. Not
// waiting for the disk is most of the speed; shared memory through files because
// a container's /dev/shm may have 64 MB.
func settingsFor(o Options) map[string]string {
	set := map[string]string{
		"fsync":                      "off",
		"synchronous_commit":         "off",
		"full_page_writes":           "off",
		"wal_level":                  "minimal",
		"max_wal_senders":            "0",
		"shared_buffers":             "32MB",
		"max_wal_size":               "256MB",
		"dynamic_shared_memory_type": "mmap",
		"jit":                        "off",
		"autovacuum_naptime":         "60s",
		"log_destination":            "stderr",
		"logging_collector":          "off",
		"ssl":                        "off",
		"listen_addresses":           "",
	}
	if o.TCP {
		set["listen_addresses"] = "127.0.0.1"
	}
	maps.Copy(set, o.Settings)
	return set
}

// hbaFile lets in everybody on the socket, whose folder is closed to all but the
// server's account, and whoever knows the password on TCP. Ident and trust for
// hosts are not in it.
const hbaFile = `# Written by pgsonde for a throw-away server.
local   all          all                 trust
local   replication  all                 trust
host    all          all  127.0.0.0/8    scram-sha-256
host    replication  all  127.0.0.0/8    scram-sha-256
`
