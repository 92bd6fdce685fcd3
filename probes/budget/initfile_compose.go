package budget

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// composeReader reads the services of a compose file.
type composeReader struct {
	d        *draft
	services *yaml.Node
	beside   func(path string) ([]byte, error) // nil: none can be read
	vars     map[string]string                 // of the .env beside it
	server   serverKnown
}

func newCompose(d *draft, services *yaml.Node, beside func(string) ([]byte, error)) *composeReader {
	c := &composeReader{d: d, services: services, beside: beside}
	if data, ok := c.file(".env"); ok {
		c.vars = envLines(strings.Split(string(data), "\n"))
		d.head = append(d.head, "Variables are those of the .env beside it.")
	}
	return c
}

// file reads a file beside the compose file.
func (c *composeReader) file(path string) ([]byte, bool) {
	if c.beside == nil || path == "" {
		return nil, false
	}
	data, err := c.beside(path)
	return withoutMark(data), err == nil
}

func (c *composeReader) fill(s string) string { return fill(s, c.vars).text }

// read takes the poolers and the server first, as the others refer to them.
func (c *composeReader) read() {
	var ws []deployed
	servers := 0
	for _, e := range pairs(c.services) {
		w := c.service(e)
		image := c.fill(word(c.get(e.val, "image")))
		switch {
		case bouncerImage.MatchString(image):
			c.d.addBouncer(w)
		case serverImage.MatchString(image):
			if servers++; servers == 1 {
				c.addServer(w)
			} else {
				c.server.notes = append(c.server.notes, "GUESS: "+w.name+" is another server, which needs a budget of its own; all is counted on the first")
			}
		default:
			c.surround(&w, e)
			ws = append(ws, w)
		}
	}
	c.d.setServer(c.server)
	c.d.addDeployed(ws)
	c.d.dropEmptyPoolers()
}

// get is a key of a service, of the service it extends when it has none itself.
func (c *composeReader) get(n *yaml.Node, path ...string) *yaml.Node {
	for range maxDepth {
		if v := child(n, path...); v != nil {
			return v
		}
		if n = c.base(n); n == nil {
			return nil
		}
	}
	return nil
}

// base is the service of the same file that n extends.
func (c *composeReader) base(n *yaml.Node) *yaml.Node {
	name := cmp.Or(word(child(n, "extends", "service")), word(child(n, "extends")))
	if name == "" || word(child(n, "extends", "file")) != "" {
		return nil
	}
	return child(c.services, name)
}

// service reads what a service runs with.
func (c *composeReader) service(e entry) deployed {
	w := deployed{name: e.key, env: map[string]string{}, vars: c.vars, prefix: prefixOf(e.key)}
	w.command = c.fill(words(c.get(e.val, "entrypoint")) + " " + words(c.get(e.val, "command")))
	if file := word(child(e.val, "extends", "file")); file != "" {
		w.notes = append(w.notes, "GUESS: what it extends is in another file, which was not read")
	}
	var chain []*yaml.Node
	for n := e.val; n != nil && len(chain) < maxDepth; n = c.base(n) {
		chain = append(chain, n)
	}
	for _, n := range slices.Backward(chain) {
		c.envFiles(&w, child(n, "env_file"))
	}
	for _, n := range slices.Backward(chain) {
		envOf(child(n, "environment"), w.env)
	}
	for k, v := range w.env {
		if outer, ok := c.vars[k]; ok && v == "" {
			w.env[k] = outer // passed on
		}
	}
	return w
}

// prefixOf is how variables of a service of that name begin.
func prefixOf(name string) string {
	return strings.Map(func(c rune) rune {
		if c == '-' || c == '.' {
			return '_'
		}
		return c
	}, strings.ToUpper(name))
}

// envFiles reads the variables of files: a path, a list, or { path, required }.
func (c *composeReader) envFiles(w *deployed, n *yaml.Node) {
	for _, item := range list(n) {
		path := c.fill(cmp.Or(word(item), word(child(item, "path"))))
		data, ok := c.file(path)
		if !ok {
			w.notes = append(w.notes, "GUESS: its env_file was not read, which may say more")
			continue
		}
		for k, v := range envLines(strings.Split(string(data), "\n")) {
			w.env[k] = v
		}
	}
}

// surround reads how many there are, and when they run.
func (c *composeReader) surround(w *deployed, e entry) {
	text := cmp.Or(word(c.get(e.val, "scale")), word(c.get(e.val, "deploy", "replicas")))
	n, note, ok := counted("its number of replicas", text, c.vars)
	if ok {
		w.sizes = append(w.sizes, sized("replicas", n))
	} else if note != "" {
		w.notes = append(w.notes, note)
	}
	if word(c.get(e.val, "deploy", "mode")) == "global" {
		w.notes = append(w.notes, "GUESS: one replica; deploy mode global starts one on each node")
	}
	if word(c.get(e.val, "deploy", "update_config", "order")) == "start-first" {
		n, _, ok := counted("", word(c.get(e.val, "deploy", "update_config", "parallelism")), c.vars)
		if !ok {
			n = 1 // as the orchestrator has it
		}
		if n == 0 {
			w.sizes = append(w.sizes, size{"surge", `"100%"`}) // all at once
		} else {
			w.sizes = append(w.sizes, sized("surge", n))
		}
	}
	if waitedFor(c.services, e.key) {
		w.job = true
		w.sizes = append(withoutSize(w.sizes, "surge"), size{"runs", "job"})
		w.notes = append(w.notes, "others wait for it to complete, so it is a job")
	} else if p := words(child(e.val, "profiles")); p != "" {
		w.sizes = append(withoutSize(w.sizes, "surge"), size{"runs", "manual"})
		w.notes = append(w.notes, "GUESS: of profile "+p+", so started by hand")
	} else {
		c.ends(w, e)
	}
}

// ends takes what migrates for a job, unless it is started again and again.
func (c *composeReader) ends(w *deployed, e entry) {
	restart := c.fill(cmp.Or(word(c.get(e.val, "deploy", "restart_policy", "condition")), word(c.get(e.val, "restart"))))
	switch {
	case slices.Contains([]string{"always", "unless-stopped", "any"}, restart):
		return
	case oneShot.MatchString(w.stays()):
		w.notes = append(w.notes, "by its command it migrates and ends, so it is a job")
	case hookName.MatchString(e.key) && restart != "":
		w.notes = append(w.notes, "GUESS: by its name a job that comes and goes")
	default:
		return
	}
	w.job = true
	w.sizes = append(withoutSize(w.sizes, "surge"), size{"runs", "job"})
}

func withoutSize(sizes []size, key string) []size {
	return slices.DeleteFunc(sizes, func(s size) bool { return s.key == key })
}

// waitedFor says that another service starts when this one has completed.
func waitedFor(services *yaml.Node, name string) bool {
	for _, e := range pairs(services) {
		if word(child(e.val, "depends_on", name, "condition")) == "service_completed_successfully" {
			return true
		}
	}
	return false
}

// serverImage finds images of the server itself, bouncerImage of PgBouncer.
var (
	serverImage  = regexp.MustCompile(`(?:^|/)(?:postgres|postgresql|postgis|timescaledb|pgvector)(?:-ha)?(?::|@|$)`)
	bouncerImage = regexp.MustCompile(`(?:^|/)[^/]*pgbouncer[^/]*$`)
)

// configFile is a configuration file that the server is started with.
var configFile = regexp.MustCompile(`config[-_]file\s*=\s*(\S+)`)

func (c *composeReader) addServer(w deployed) {
	c.server.readEnv(w.env, c.vars)
	if m := configFile.FindStringSubmatch(w.command); m != nil {
		c.server.notes = append(c.server.notes, "GUESS: its configuration file was not read, which may say other limits")
	}
	c.server.readText(w.command, true)
}

// addBouncer reads a PgBouncer by the variables its images take. Its pools are
// known by the URLs of those who use it.
func (d *draft) addBouncer(w deployed) {
	p := draftPooler{name: d.nameOf(w.name), sizes: []size{{"kind", "pgbouncer"}}}
	mode := strings.ToLower(cmp.Or(w.value("POOL_MODE"), w.value("PGBOUNCER_POOL_MODE")))
	if slices.Contains([]string{"session", "transaction", "statement"}, mode) {
		p.sizes = append(p.sizes, size{"mode", mode})
	} else {
		p.notes = append(p.notes, "GUESS: session mode, PgBouncer's default")
	}
	for _, key := range []string{"MAX_CLIENT_CONN", "DEFAULT_POOL_SIZE", "RESERVE_POOL_SIZE", "MIN_POOL_SIZE", "MAX_DB_CONNECTIONS", "MAX_USER_CONNECTIONS"} {
		s := w.bouncerSetting(key)
		switch lower := strings.ToLower(key); {
		case s.size(1):
			p.sizes = append(p.sizes, sized(lower, s.n))
		case s.said() && !s.number(), s.number() && s.n < 0:
			p.notes = append(p.notes, s.guess(lower+" is PgBouncer's default"))
		case key == "MAX_CLIENT_CONN" && !s.said():
			p.notes = append(p.notes, "GUESS: max_client_conn is PgBouncer's default 100")
		case key == "DEFAULT_POOL_SIZE" && !s.said():
			p.notes = append(p.notes, "GUESS: default_pool_size is PgBouncer's default 20")
		}
	}
	// What the pooler itself says of its one database, when no role says it.
	_, p.db, p.user = w.database()
	if db := w.value("PGBOUNCER_DATABASE"); db != "" && db != "*" {
		p.db = db // as its clients name it
	}
	d.poolers = append(d.poolers, p)
}

// bouncerSetting is a setting of PgBouncer as its images name it.
func (w deployed) bouncerSetting(key string) setting {
	for _, k := range []string{key, "PGBOUNCER_" + key} {
		if text, ok := w.env[k]; ok {
			return settingOf(k, text, w.vars)
		}
	}
	return setting{}
}

// dropEmptyPoolers leaves out poolers whose pools nobody names; a role cannot go
// through them.
func (d *draft) dropEmptyPoolers() {
	for i := range d.poolers {
		p := &d.poolers[i]
		if len(p.pools) == 0 && p.db != "" && p.user != "" {
			p.pools = []string{p.db + "@" + p.user}
		}
		if len(p.pools) > 0 {
			continue
		}
		d.left = append(d.left, p.name+": a pooler whose "+p.unnamed()+" nothing names, left out; what goes through it is counted on the server")
		for i := range d.roles {
			d.roles[i].sizes = slices.DeleteFunc(d.roles[i].sizes, func(s size) bool { return s.key == "via" && s.value == quoted(p.name) })
		}
	}
	d.poolers = slices.DeleteFunc(d.poolers, func(p draftPooler) bool { return len(p.pools) == 0 })
}

// unnamed is what is not known of a pool.
func (p *draftPooler) unnamed() string {
	switch {
	case p.db != "":
		return "user"
	case p.user != "":
		return "database"
	}
	return "database and user"
}
