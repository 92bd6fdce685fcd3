-- A second, smaller schema beside corpus/: quoted names, an enum, numbers with a scale, NULLs at either end, indexes over
-- expressions and with a predicate, a table partitioned newest first, a view over a join. Every value comes from the row number.
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS shop CASCADE;
CREATE SCHEMA shop;
SET search_path = shop;

CREATE TYPE stage AS ENUM ('new', 'paid', 'sent', 'back');
CREATE TABLE customer (customer_id int PRIMARY KEY, label text NOT NULL, since date NOT NULL);
INSERT INTO customer SELECT i, 'customer '||i, date '2020-01-01' + i FROM generate_series(1, 3000) i;

CREATE TABLE "Order" (
  "Id"         bigint        PRIMARY KEY,
  "customerId" int           NOT NULL REFERENCES customer,  -- 3,000 values, index ("customerId", "placedAt", "Id")
  "placedAt"   timestamptz   NOT NULL,                      -- index ("placedAt" DESC, "Id" DESC)
  stage        stage         NOT NULL,                      -- 4 values
  total        numeric(12,2) NOT NULL,                      -- index (total, "Id")
  "shippedOn"  date,                                        -- NULL for a quarter, index ("shippedOn" DESC NULLS LAST, "Id" DESC)
  email        varchar(80)   NOT NULL,                      -- index (lower(email), "Id"), index (email, "Id")
  weight       float8        NOT NULL,                      -- no index but (coalesce(weight, -1), "Id")
  note         text          NOT NULL
);
INSERT INTO "Order"
SELECT i, 1 + h % 3000, t0 + (i / 4) * interval '90 s', (ARRAY['new','paid','sent','back'])[1 + (h / 11) % 4]::stage,
       ((i::bigint * 48271) % 90001)::numeric / 100, CASE WHEN h % 4 > 0 THEN date '2023-01-01' + (h / 5) % 700 END,
       CASE WHEN h % 2 = 0 THEN 'U' ELSE 'u' END || 'ser' || lpad(((i::bigint * 40014) % 30000)::text, 5, '0') || '@example.net',
       ((i::bigint * 69621) % 80021) / 7.0, repeat(md5('o'||i), 2)
FROM (SELECT i, ((i::bigint * 2654435761) % 1000003)::int AS h, timestamptz '2023-01-01 00:00:00+00' AS t0 FROM generate_series(1, 80000) i) s;
CREATE INDEX order_customer_placed ON "Order" ("customerId", "placedAt", "Id");
CREATE INDEX order_placed          ON "Order" ("placedAt" DESC, "Id" DESC);
CREATE INDEX order_total           ON "Order" (total, "Id");
CREATE INDEX order_shipped         ON "Order" ("shippedOn" DESC NULLS LAST, "Id" DESC);
CREATE INDEX order_email_lower     ON "Order" (lower(email), "Id");
CREATE INDEX order_email           ON "Order" (email, "Id");
CREATE INDEX order_weight_else     ON "Order" (coalesce(weight, -1), "Id");
CREATE INDEX order_back            ON "Order" (total DESC, "Id") WHERE stage = 'back';

-- a meter's readings: composite key, an index over a day
CREATE TABLE reading (meter_id int NOT NULL, taken_at timestamp NOT NULL, seq int NOT NULL, watt int NOT NULL, quality smallint,
                      PRIMARY KEY (meter_id, taken_at, seq));
INSERT INTO reading SELECT CASE WHEN i % 5 < 3 THEN 7 ELSE 8 + i % 11 END, timestamp '2024-03-01' + (i / 3) * interval '20 s', i, (i::bigint * 16807) % 60013,
       CASE WHEN i % 3 > 0 THEN i % 6 END
FROM generate_series(1, 60000) i;
CREATE INDEX reading_day     ON reading ((taken_at::date), seq);
CREATE INDEX reading_seq     ON reading (seq);
CREATE INDEX reading_watt    ON reading (watt DESC, meter_id, seq DESC);
CREATE INDEX reading_load    ON reading ((watt + COALESCE(quality, 0)), seq);

-- messages, a partition a quarter, read newest first
CREATE TABLE message (message_id bigint NOT NULL, sent_at timestamptz NOT NULL, room int NOT NULL, body text NOT NULL) PARTITION BY RANGE (sent_at);
CREATE TABLE message_1 PARTITION OF message FOR VALUES FROM ('2024-01-01 00:00+00') TO ('2024-04-01 00:00+00');
CREATE TABLE message_2 PARTITION OF message FOR VALUES FROM ('2024-04-01 00:00+00') TO ('2024-07-01 00:00+00');
CREATE TABLE message_3 PARTITION OF message FOR VALUES FROM ('2024-07-01 00:00+00') TO ('2024-10-01 00:00+00');
CREATE TABLE message_4 PARTITION OF message FOR VALUES FROM ('2024-10-01 00:00+00') TO ('2025-01-01 00:00+00');
INSERT INTO message SELECT i, timestamptz '2024-01-01 00:00+00' + (i / 2) * interval '25 min', i % 9, md5(i::text) FROM generate_series(1, 40000) i
 WHERE (i / 2) * interval '25 min' < interval '365 days';
CREATE INDEX message_newest ON message (sent_at DESC, message_id DESC);

-- audit: a nullable rank, names under "C"
CREATE TABLE audit (audit_id uuid PRIMARY KEY, happened timestamptz NOT NULL, rank int, actor text COLLATE "C" NOT NULL, detail jsonb NOT NULL);
INSERT INTO audit SELECT md5('a'||i)::uuid, timestamptz '2024-06-01 00:00+00' + (i / 2) * interval '7 s', CASE WHEN i % 3 > 0 THEN (i::bigint * 48271) % 30011 END,
       'actor ' || lpad(((i::bigint * 16807) % 40009)::text, 6, '0'), jsonb_build_object('at', i, 'kind', i % 5)
FROM generate_series(1, 50000) i;
CREATE INDEX audit_happened ON audit (happened, audit_id);
CREATE INDEX audit_rank     ON audit (rank, audit_id);
CREATE INDEX audit_actor    ON audit (actor, audit_id);

-- parcels: few are not weighed yet, a third has not left, a tenth has no lane, of which there are six
CREATE TABLE parcel (parcel_id int PRIMARY KEY, hub int NOT NULL, lane smallint, booked timestamptz NOT NULL, weighed timestamptz, left_at timestamptz);
INSERT INTO parcel SELECT i, h % 3, CASE WHEN h % 10 > 0 THEN h / 10 % 6 END, timestamptz '2024-02-01 00:00+00' + (i / 3) * interval '11 s',
       CASE WHEN h % 200 > 0 THEN timestamptz '2024-02-02 00:00+00' + (h / 3) * interval '7 s' END,
       CASE WHEN h / 3 % 3 > 0 THEN timestamptz '2024-02-03 00:00+00' + (h / 5) * interval '13 s' END
FROM (SELECT i, ((i::bigint * 2654435761) % 1000003)::int AS h FROM generate_series(1, 60000) i) s;
CREATE INDEX parcel_weighed ON parcel (weighed NULLS FIRST, parcel_id);
CREATE INDEX parcel_lane    ON parcel (lane, booked, parcel_id);
CREATE INDEX parcel_left    ON parcel (hub, left_at DESC NULLS LAST, parcel_id);
CREATE INDEX parcel_lane_turned ON parcel (lane DESC NULLS LAST, booked, parcel_id DESC);

CREATE VIEW order_list AS
SELECT o."Id" AS order_id, o."placedAt" AS placed, o.total AS amount, o."shippedOn" AS shipped, c.label FROM "Order" o JOIN customer c ON c.customer_id = o."customerId";
VACUUM (ANALYZE) customer; VACUUM (ANALYZE) "Order"; VACUUM (ANALYZE) reading; VACUUM (ANALYZE) message; VACUUM (ANALYZE) audit; VACUUM (ANALYZE) parcel;
ANALYZE message;
