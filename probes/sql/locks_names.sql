-- Names of relations, schemas and subscriptions in our database, best effort:
-- it touches catalogs and may have to wait for somebody's DDL on them.
-- Since 13. No privilege.
-- Parameters: $1 oids of relations; $2 of schemas; $3 of subscriptions.
select 1259 as class, c.oid, pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname) as name,
       coalesce(i.indrelid, 0)::bigint as parent, coalesce(i.indisunique or i.indisexclusion, false) as is_unique,
       c.relkind::text as kind,
       exists (select from pg_catalog.pg_trigger t where t.tgrelid = c.oid and (not t.tgisinternal or t.tgconstrrelid = t.tgrelid)) as triggers,
       coalesce(i.indisexclusion or not i.indimmediate, false) as late,
       (select pg_catalog.string_agg(distinct case a.attgenerated when '' then pg_catalog.quote_ident(a.attname) else '*' end, ',')
        from pg_catalog.pg_index k join pg_catalog.pg_attribute a on a.attrelid = k.indrelid
        where k.indrelid = c.oid and (k.indisunique or k.indisexclusion)
          and (a.attnum = any (k.indkey) or exists (select from pg_catalog.pg_depend d where d.classid = 1259 and d.objid = k.indexrelid
               and d.refclassid = 1259 and d.refobjid = k.indrelid and d.refobjsubid = a.attnum))) as keys,
       (select pg_catalog.string_agg((select pg_catalog.string_agg(pg_catalog.quote_ident(a.attname), ',')
                from pg_catalog.unnest(k.indkey::int2[]) with ordinality x(attnum, n) join pg_catalog.pg_attribute a on a.attrelid = k.indrelid and a.attnum = x.attnum
                where x.n <= k.indnkeyatts), '|')
        from pg_catalog.pg_index k
        where k.indrelid = c.oid and k.indisunique and k.indimmediate and k.indisvalid and k.indpred is null and k.indexprs is null
          and c.relkind = 'r' and not c.relhassubclass) as whole,
       c.relhassubclass or c.relkind = 'v' as children,
       exists (select from pg_catalog.pg_trigger t where t.tgrelid = c.oid and t.tgconstrrelid not in (0, c.oid)) as tied
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace left join pg_catalog.pg_index i on i.indexrelid = c.oid
where c.oid = any ($1::oid[])
union all
select 2615, n.oid, pg_catalog.quote_ident(n.nspname), 0, false, '', false, false, null, null, false, false from pg_catalog.pg_namespace n where n.oid = any ($2::oid[])
union all
select 6100, s.oid, pg_catalog.quote_ident(s.subname), 0, false, '', false, false, null, null, false, false from pg_catalog.pg_subscription s where s.oid = any ($3::oid[])
