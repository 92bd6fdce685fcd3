-- Makes the planner believe the size of relation $1 (OID): rows $2, pages $3, of them all-visible $4. PostgreSQL 14 and later.
-- Superuser of a throw-away server only. No rows.
UPDATE pg_catalog.pg_class SET reltuples = $2::float4, relpages = $3::int, relallvisible = $4::int WHERE oid = $1::oid
