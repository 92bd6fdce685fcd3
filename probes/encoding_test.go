package probes

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

func TestDecodeText(t *testing.T) {
	tests := []struct{ name, enc, in, want string }{
		{"ascii", "LATIN1", "select 1", "select 1"},
		{"utf8", "UTF8", "Žluť", "Žluť"},
		{"utf8 stray", "UTF8", "a\xffb\xc5", `a\xffb\xc5`},
		{"sql_ascii that is utf8", "SQL_ASCII", "ü", "ü"},
		{"sql_ascii that is not", "SQL_ASCII", "\xfc", `\xfc`},
		{"latin1", "LATIN1", "stra\xdfe", "straße"},
		{"win1252", "WIN1252", "5 \x80", "5 €"},
		{"win1252 undefined", "WIN1252", "\x80\x81!", `€\x81!`},
		{"euc_jp", "EUC_JP", "\xc6\xfc\xcb\xdc", "日本"},
		{"euc_jp stray", "EUC_JP", "\xff\xc6\xfc\xcb", `\xff日\xcb`},
		{"sjis", "SJIS", "\x93\xfa\x96{", "日本"},
		{"gb18030", "GB18030", "\xd6\xd0\xce\xc4", "中文"},
		{"euc_kr", "EUC_KR", "\xc7\xd1", "한"},
		{"big5", "BIG5", "\xa4\xa4", "中"},
		{"koi8r", "KOI8R", "\xd0\xd2", "пр"},
		{"nobody decodes it", "EUC_TW", "\xa4\xa4", `\xa4\xa4`},
		{"unknown database", "", "a\x80", `a\x80`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := decodeText(tt.enc, []byte(tt.in)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestDecodeNeverFails(t *testing.T) {
	var all []byte
	for b := 1; b < 256; b++ {
		all = append(all, byte(b), byte(255-b+1), 'x')
	}
	for _, enc := range []string{"", "UTF8", "LATIN1", "LATIN10", "ISO_8859_8", "KOI8U", "WIN874", "WIN1255", "EUC_JP", "SJIS", "EUC_KR", "EUC_CN", "GB18030", "BIG5", "JOHAB"} {
		got := decodeText(enc, all)
		if !utf8.ValidString(got) {
			t.Errorf("%s: not valid UTF-8", enc)
		}
		if strings.ContainsRune(got, utf8.RuneError) {
			t.Errorf("%s: got a replacement character, want escapes", enc)
		}
	}
}

// Sessions of databases in five encodings write bytes that only their own
// database can read, and some that nobody can: the reading never fails, whatever
// database the reader is in, and shows each text by its own encoding.
func TestForeignEncodings(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		srv := pgtest.Start(t, in, pgserver.Options{})
		texts := []struct{ enc, raw, want string }{
			{"SQL_ASCII", "select 'caf\xe9\xff'", `select 'caf\xe9\xff'`},
			{"LATIN1", "select 'caf\xe9'", "select 'café'"},
			{"EUC_JP", "select '\xc6\xfc\xcb\xdc'", "select '日本'"},
			{"WIN1252", "select '\x80 5'", "select '€ 5'"},
			{"UTF8", "select 'Ž'", "select 'Ž'"},
		}
		for _, x := range texts {
			db := "db_" + strings.ToLower(x.enc)
			pgtest.Exec(t, srv.DSN("postgres", "postgres"),
				"create database "+db+" encoding '"+x.enc+"' lc_collate 'C' lc_ctype 'C' template template0")
			raw(t, srv.DSN("postgres", db)+" application_name="+db, x.raw)
			// A client that cut a character in half; EUC_JP and UTF8 refuse the text.
			raw(t, srv.DSN("postgres", db)+" application_name=stray_"+db, "select \xc6 from \xe3\x81")
		}
		for _, x := range texts {
			s := open(t, Options{DSN: srv.DSN("postgres", "db_"+strings.ToLower(x.enc))})
			got := map[string]Session{}
			for _, session := range tick(t, s, Want{Sessions: true}).Sessions {
				got[session.App] = session
			}
			for _, y := range texts {
				db := "db_" + strings.ToLower(y.enc)
				if q := got[db].Query; q != y.want {
					t.Errorf("read from %s: got %q, want %q", x.enc, q, y.want)
				}
				stray := got["stray_"+db]
				refused := y.enc == "EUC_JP" || y.enc == "UTF8"
				if !utf8.ValidString(stray.Query) || !refused && !strings.HasPrefix(stray.Query, "select ") {
					t.Errorf("read from %s: got %q of %s", x.enc, stray.Query, db)
				}
				full, err := s.FullQuery(t.Context(), got[db].PID, got[db].BackendStart)
				if err != nil || full != y.want {
					t.Errorf("full query: got %q, %v, want %q", full, err, y.want)
				}
			}
			s.Close()
		}
	})
}

// raw runs bytes as a query in a session that stays open, whatever comes back.
func raw(t *testing.T, dsn, query string) {
	t.Helper()
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	cfg.RuntimeParams["client_encoding"] = "SQL_ASCII"
	c, err := pgconn.ConnectConfig(t.Context(), &cfg.Config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(t.Context()) })
	_ = c.Exec(t.Context(), query).Close()
}

// A query of a megabyte is cut on the server, and comes whole when asked for.
func TestLongQueryIsClipped(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		srv := pgtest.Start(t, in, pgserver.Options{Settings: map[string]string{"track_activity_query_size": "1MB"}})
		long := "select '" + strings.Repeat("é", 500_000) + "'"
		for range 3 {
			client(t, srv.DSN("postgres", "postgres"), "long", long)
		}
		s := open(t, Options{DSN: srv.DSN("postgres", "postgres")})
		snap := tick(t, s, Want{Sessions: true, QueryBytes: 1001})
		if len(snap.Sessions) != 3 || snap.Cost.Bytes > 12_000 {
			t.Errorf("got %d sessions in %d bytes, want three clipped ones", len(snap.Sessions), snap.Cost.Bytes)
		}
		for _, x := range snap.Sessions {
			if !x.QueryClipped || len(x.Query) != 1000 || !strings.HasPrefix(long, x.Query) {
				t.Errorf("got %d bytes, clipped %v, want 1000: no half character", len(x.Query), x.QueryClipped)
			}
		}
		one := snap.Sessions[1]
		full := tick(t, s, Want{FullPID: one.PID})
		if len(full.Sessions) != 1 || full.Sessions[0].Query != long || full.Sessions[0].QueryClipped {
			t.Errorf("got %d sessions, want the whole text of one", len(full.Sessions))
		}
		got, err := s.FullQuery(t.Context(), one.PID, one.BackendStart)
		if err != nil || got != long {
			t.Errorf("got %d bytes, %v, want the whole text", len(got), err)
		}
		if _, err := s.FullQuery(t.Context(), one.PID, one.BackendStart.Add(-1)); err == nil {
			t.Error("got the text of another backend with the same pid, want an error")
		}
		if snap := tick(t, s, Want{Sessions: true, QueryBytes: 1 << 20}); snap.Cost.Bytes > 40_000 {
			t.Errorf("got %d bytes, want at most 4 kB a session", snap.Cost.Bytes)
		}
	})
}
