package probes

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// keyword is one setting of a connection string, in its order.
type keyword struct{ key, value string }

// driverKeywords are libpq's keywords that the driver handles itself.
var driverKeywords = strings.Fields(`host port dbname database user password passfile connect_timeout sslmode ssl sslkey sslcert
 sslcertmode sslrootcert sslnegotiation sslpassword sslsni krbsrvname target_session_attrs service servicefile
 min_protocol_version max_protocol_version channel_binding require_auth client_encoding options`)

// ignoredKeywords are known to libpq or to connection pools and mean nothing here.
var ignoredKeywords = strings.Fields(`gssencmode gsslib gssdelegation sslcompression sslcrl sslcrldir requiressl
 load_balance_hosts requirepeer ssl_min_protocol_version ssl_max_protocol_version sslkeylogfile replication
 pool_max_conns pool_min_conns pool_min_idle_conns pool_max_conn_lifetime pool_max_conn_lifetime_jitter
 pool_max_conn_idle_time pool_health_check_period default_query_exec_mode statement_cache_capacity description_cache_capacity`)

// unsafeToIgnore are ignored keywords whose strict values promise something
// that would not be kept.
var unsafeToIgnore = map[string]string{
	"gssencmode": "require", "sslcrl": "", "sslcrldir": "", "requirepeer": "", "replication": "",
	"ssl_min_protocol_version": "", "ssl_max_protocol_version": "",
}

// dsn is a connection string taken apart: what is left for the driver and what
// pgsonde does itself.
type dsn struct {
	driver   string // for pgconn.ParseConfig
	hostaddr string
	alive    keepalive
	passfile string // passfile= of the string
	password bool   // the string or the environment carries a password
	ignored  []string
}

// parseDSN sorts the keywords of o.DSN by who understands them. The driver
// would hand those it does not know to the server as settings, which refuses
// the connection with an error about a setting nobody wrote.
func parseDSN(o Options) (dsn, error) {
	d := dsn{alive: defaultKeepalive()}
	isURL := strings.HasPrefix(o.DSN, "postgres://") || strings.HasPrefix(o.DSN, "postgresql://")
	head, words, err := splitDSN(o.DSN, isURL)
	if err != nil {
		return d, err
	}
	d.password = o.Getenv("PGPASSWORD") != "" || isURL && strings.Contains(strings.SplitN(head, "@", 2)[0][len("postgres://"):], ":") && strings.Contains(head, "@")
	kept, err := d.sort(words)
	if err != nil {
		return d, err
	}
	for _, f := range []keyword{{"host", o.Host}, {"port", o.Port}, {"user", o.User}, {"dbname", o.Database}} {
		if f.value != "" {
			kept = append(kept, f)
		}
	}
	if d.hostaddr == "" {
		d.hostaddr = o.Getenv("PGHOSTADDR")
	}
	if o.Host != "" {
		d.hostaddr = ""
	}
	if d.hostaddr != "" && !hasKey(kept, "host") && !isURL && o.Getenv("PGHOST") == "" {
		kept = append(kept, keyword{"host", d.hostaddr})
	}
	d.driver = joinDSN(head, kept, isURL)
	return d, nil
}

// sort keeps what the driver knows and takes the rest.
func (d *dsn) sort(words []keyword) (kept []keyword, err error) {
	for _, w := range words {
		switch {
		case d.take(w):
		case slices.Contains(driverKeywords, w.key):
			d.password = d.password || w.key == "password"
			if w.key == "passfile" {
				d.passfile = w.value
			}
			kept = append(kept, w)
		case slices.Contains(ignoredKeywords, w.key):
			if strict, ok := unsafeToIgnore[w.key]; ok && w.value != "" && (strict == "" || w.value == strict) {
				return nil, fmt.Errorf("keyword %q is not supported: leave it out", w.key)
			}
			d.ignored = append(d.ignored, w.key)
		default:
			return nil, fmt.Errorf("unknown keyword %q", w.key)
		}
	}
	return kept, nil
}

// take handles the keywords that pgsonde translates itself.
func (d *dsn) take(w keyword) bool {
	n, _ := strconv.Atoi(w.value)
	seconds := func(unit time.Duration, to *time.Duration) {
		if n > 0 {
			*to = time.Duration(n) * unit
		}
	}
	switch w.key {
	case "hostaddr":
		d.hostaddr = w.value
	case "fallback_application_name", "application_name": // ours is always the same
	case "keepalives":
		d.alive.off = w.value == "0"
	case "keepalives_idle":
		seconds(time.Second, &d.alive.idle)
	case "keepalives_interval":
		seconds(time.Second, &d.alive.interval)
	case "keepalives_count":
		d.alive.count = max(n, 1)
	case "tcp_user_timeout":
		seconds(time.Millisecond, &d.alive.userTimeout)
	default:
		return false
	}
	return true
}

// splitDSN takes the keywords out of a connection string. For a URL head is all
// before its query; a string without = is a database name.
func splitDSN(s string, isURL bool) (head string, words []keyword, err error) {
	switch {
	case isURL:
		head, words, err = splitURL(s)
	case strings.Contains(s, "="):
		words, err = splitKeywords(s)
	case strings.TrimSpace(s) != "":
		words = []keyword{{"dbname", s}}
	}
	return head, words, err
}

func splitURL(s string) (head string, words []keyword, err error) {
	from := 0
	if i := strings.IndexAny(s[len("postgres://"):], "@/"); i >= 0 && s[len("postgres://")+i] == '@' {
		from = len("postgres://") + i // a password may contain ?
	}
	i := strings.IndexByte(s[from:], '?')
	if i < 0 {
		return s, nil, nil
	}
	head = s[:from+i]
	for pair := range strings.SplitSeq(s[from+i+1:], "&") {
		if pair == "" {
			continue
		}
		k, v, _ := strings.Cut(pair, "=")
		key, kerr := url.PathUnescape(k)
		value, verr := url.PathUnescape(v)
		if kerr != nil || verr != nil {
			return "", nil, fmt.Errorf("bad percent-encoding in the value of %q", k)
		}
		words = append(words, keyword{key, value})
	}
	return head, words, nil
}

// splitKeywords reads key=value pairs with libpq's quoting.
func splitKeywords(s string) (words []keyword, err error) {
	const space = " \t\n\r\v\f"
	for s = strings.TrimLeft(s, space); s != ""; s = strings.TrimLeft(s, space) {
		key, rest, ok := strings.Cut(s, "=")
		key = strings.Trim(key, space)
		if !ok || key == "" || strings.ContainsAny(key, space) {
			name, _, _ := strings.Cut(key, " ")
			return nil, fmt.Errorf(`missing "=" after %q`, name)
		}
		value, after, err := keywordValue(strings.TrimLeft(rest, space))
		if err != nil {
			return nil, fmt.Errorf("the value of %q: %w", key, err)
		}
		words, s = append(words, keyword{key, value}), after
	}
	return words, nil
}

func keywordValue(s string) (value, rest string, err error) {
	quoted := strings.HasPrefix(s, "'")
	if quoted {
		s = s[1:]
	}
	var sb strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			sb.WriteByte(s[i])
		case c == '\\':
		case quoted && c == '\'':
			return sb.String(), s[i+1:], nil
		case !quoted && strings.IndexByte(" \t\n\r\v\f", c) >= 0:
			return sb.String(), s[i:], nil
		default:
			sb.WriteByte(c)
		}
	}
	if quoted {
		return "", "", fmt.Errorf("its quote is not closed")
	}
	return sb.String(), "", nil
}

// joinDSN writes a connection string that the driver reads back the same.
func joinDSN(head string, words []keyword, isURL bool) string {
	parts := make([]string, 0, len(words))
	for _, w := range words {
		if isURL {
			parts = append(parts, escapeURL(w.key)+"="+escapeURL(w.value))
		} else {
			v := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(w.value)
			parts = append(parts, w.key+"='"+v+"'")
		}
	}
	switch {
	case !isURL:
		return strings.Join(parts, " ")
	case len(parts) == 0:
		return head
	}
	return head + "?" + strings.Join(parts, "&")
}

// escapeURL percent-encodes everything but letters and digits.
func escapeURL(s string) string {
	var sb strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.' {
			sb.WriteByte(c)
		} else {
			fmt.Fprintf(&sb, "%%%02X", c)
		}
	}
	return sb.String()
}

func hasKey(words []keyword, key string) bool {
	return slices.ContainsFunc(words, func(w keyword) bool { return w.key == key })
}
