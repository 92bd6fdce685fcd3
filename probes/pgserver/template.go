package pgserver

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// layCluster makes data/: a copy of the cached template of these binaries, or,
// the first time, initdb's work, which becomes the template.
func (s *Server) layCluster(ctx context.Context, noCache bool) error {
	tpl, err := s.templateDir()
	if noCache || err != nil { // a machine without a cache folder still runs servers
		return s.initdb(ctx)
	}
	if isCluster(tpl) {
		return s.copyTemplate(tpl)
	}
	root := filepath.Dir(tpl)
	if err := makeTemplateRoot(root, s.acct); err != nil {
		return s.initdb(ctx)
	}
	lock, err := waitLock(ctx, filepath.Join(root, "lock"))
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("waiting for the template: %w", err)
		}
		return s.initdb(ctx)
	}
	defer lock.Close()
	if isCluster(tpl) {
		return s.copyTemplate(tpl)
	}
	if err := s.initdb(ctx); err != nil {
		return err
	}
	return s.saveTemplate(tpl)
}

func isCluster(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "PG_VERSION"))
	return err == nil
}

func makeTemplateRoot(root string, acct account) error {
	// The parent holds the fetched servers too: the account must reach them.
	if err := makeOpenDir(filepath.Dir(root), acct); err != nil {
		return err
	}
	return os.MkdirAll(root, 0o700)
}

// templateDir is the template's place: one per set of binaries, told apart by
// version, path, size and time. "v1" is for changes of what initdb is asked.
func (s *Server) templateDir() (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	st, err := os.Stat(s.exe("postgres"))
	if err != nil {
		return "", err
	}
	key := sha256.Sum256(fmt.Appendf(nil, "v1\n%s\n%s\n%d\n%d", s.full, s.BinDir, st.Size(), st.ModTime().UnixNano()))
	return filepath.Join(cache, "template", fmt.Sprintf("%d-%x", s.Major, key[:8])), nil
}

func (s *Server) copyTemplate(tpl string) error {
	if err := copyTree(tpl, s.dataDir(), s.acct); err != nil {
		return fmt.Errorf("copying the template cluster: %w", err)
	}
	return nil
}

// saveTemplate copies the fresh cluster into the cache, ours whatever account
// made it. The caller holds the lock, so what an earlier killed run left half
// done is ours to remove.
func (s *Server) saveTemplate(tpl string) error {
	root := filepath.Dir(tpl)
	if stale, err := filepath.Glob(filepath.Join(root, "part-*")); err == nil {
		for _, d := range stale {
			os.RemoveAll(d)
		}
	}
	part, err := os.MkdirTemp(root, "part-")
	if err != nil {
		return nil // a full or read-only cache costs speed only
	}
	defer os.RemoveAll(part)
	half := filepath.Join(part, "data")
	if err := copyTree(s.dataDir(), half, account{}); err != nil {
		return nil
	}
	if err := os.Rename(half, tpl); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("saving the template cluster: %w", err)
	}
	return nil
}

// initdb makes data/ in the server's folder, as the account. Its log-in rules
// are replaced by ours: nobody is trusted over TCP.
func (s *Server) initdb(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, s.exe("initdb"), "-D", s.dataDir(), "-U", "postgres",
		"-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
	cmd.Env = cleanEnv()
	cmd.Dir = s.dir
	setAttr(cmd, s.acct, false)
	out, err := cmd.CombinedOutput()
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("running initdb: %w", ctx.Err())
		}
		if strings.Contains(string(out), "could not look up effective user ID") {
			return errors.New("running initdb: this account has no line in the passwd file; add one, or run as another account")
		}
		return fmt.Errorf("running initdb: %w: %s", err, lastFatal(string(out)))
	}
	hba := filepath.Join(s.dataDir(), "pg_hba.conf")
	if err := os.WriteFile(hba, []byte(hbaFile), 0o600); err != nil {
		return fmt.Errorf("writing pg_hba.conf: %w", err)
	}
	return nil
}
