package budget

import (
	"strings"

	"github.com/pgsonde/pgsonde/probes"
)

// builtIn knows the tools of people and the agents of platforms: by the user
// where a platform has its own, else by the application name they send.
func builtIn(w Who) (string, bool) {
	if w.Kind != probes.KindClient {
		return "", false
	}
	for _, u := range systemUsers() {
		if w.User == u {
			return roleSystem, true
		}
	}
	for _, p := range systemApps() {
		if strings.HasPrefix(w.App, p) {
			return roleSystem, true
		}
	}
	for _, p := range operatorApps() {
		if w.App == p || strings.HasPrefix(w.App, p+" ") || strings.HasPrefix(w.App, p+"-") {
			return roleOperators, true
		}
	}
	return "", false
}

// systemUsers are roles of managed services and cluster managers.
func systemUsers() []string {
	return []string{
		"rdsadmin", "rdsrepladmin", "cloudsqladmin", "cloudsqlagent", "azuresu", "azure_superuser",
		"cnpg_metrics_exporter", "streaming_replica", "datadog",
	}
}

// systemApps are prefixes of the names that platform agents send.
func systemApps() []string {
	return []string{
		"Patroni", "cnpg-instance-manager", "cnpg_metrics_exporter", "pgBackRest [", "datadog-agent",
		"postgres_exporter", "pg_cron", "repmgr", "barman", "Debezium ", "Supavisor (auth_query)", "pg_auto_failover",
	}
}

// operatorApps are programs a person starts: they use the slots of keep_free.
func operatorApps() []string {
	return []string{
		"psql", "pgsonde", "pgcli", "pg_dump", "pg_dumpall", "pg_restore", "pg_activity", "pgcenter", "pgbench",
		"pgAdmin 4", "DBeaver", "DataGrip", "TablePlus", "Postico", "Navicat",
		"vacuumdb", "reindexdb", "clusterdb", "createdb", "dropdb",
	}
}
