--
-- PostgreSQL database dump
--

\restrict 4b1cQ7z

-- Dumped from database version 18.1
-- Dumped by pg_dump version 18.1

SET statement_timeout = 0;
SET transaction_timeout = 0;
SET no_such_setting_at_all = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET default_tablespace = fast_disks;
SET default_table_access_method = heap;

CREATE SCHEMA audit;
ALTER SCHEMA audit OWNER TO shop_admin;
CREATE SCHEMA public;

CREATE EXTENSION IF NOT EXISTS no_such_extension WITH SCHEMA public;
COMMENT ON EXTENSION no_such_extension IS 'is not there';

CREATE TYPE public.state AS ENUM (
    'open',
    'paid'
);
ALTER TYPE public.state OWNER TO shop_admin;

CREATE FUNCTION public.touch() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  NEW.note := 'a; b' || E'\\';
  RETURN NEW;
END;
$$;
ALTER FUNCTION public.touch() OWNER TO shop_admin;

CREATE TABLE public.orders (
    id bigint NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    owner text,
    state public.state,
    note text DEFAULT ';'::text
);
ALTER TABLE public.orders OWNER TO shop_admin;

CREATE TABLE public.events (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL
)
PARTITION BY RANGE (at);
CREATE TABLE public.events_2025 (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.events ATTACH PARTITION public.events_2025 FOR VALUES FROM ('2025-01-01 00:00:00+00') TO ('2026-01-01 00:00:00+00');
CREATE TABLE public.events_2026 PARTITION OF public.events FOR VALUES FROM ('2026-01-01 00:00:00+00') TO ('2027-01-01 00:00:00+00');

CREATE TABLE audit.audit_log (
    id bigint PRIMARY KEY,
    note text
);

COPY public.orders (id, created_at, owner, state, note) FROM stdin;
1	2025-01-01 00:00:00+00	it's me; or not	open	$$ \\ "
2	2025-01-01 00:00:01+00	\N	paid	x
\.

SELECT pg_catalog.setval('public.no_such_seq_is_fine'::text::regclass, 1, true) WHERE false;

-- A mistake in the middle of a statement.
CREATE TABLE public.broken (
    id bigint,
    place
        public.nosuchtype
);

CREATE INDEX broken_place
    ON public.broken (place);

ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_pkey PRIMARY KEY (id);
CREATE INDEX orders_created ON public.orders USING btree (created_at, id);
CREATE INDEX events_at ON public.events USING btree (at, id);

ALTER TABLE public.orders ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_orders ON public.orders TO shop_user USING ((owner = CURRENT_USER));
CREATE TRIGGER orders_touch BEFORE UPDATE ON public.orders FOR EACH ROW EXECUTE FUNCTION public.touch();

REVOKE USAGE ON SCHEMA public FROM PUBLIC;
GRANT SELECT ON TABLE public.orders TO shop_user;
ALTER DEFAULT PRIVILEGES FOR ROLE shop_admin IN SCHEMA public GRANT SELECT ON TABLES TO shop_user;

\unrestrict 4b1cQ7z
