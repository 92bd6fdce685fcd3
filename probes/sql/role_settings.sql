-- What ALTER ROLE … SET and ALTER DATABASE … SET give to new sessions.
-- Since 13. No privilege. A row per role (0: any), database (0: any) and setting.
select s.setrole, s.setdatabase, pg_catalog.unnest(s.setconfig) as setting
from pg_catalog.pg_db_role_setting s
