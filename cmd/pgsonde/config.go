package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

// configPath is name in pgsonde's XDG configuration folder, "" without one.
func configPath(name string) string {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "pgsonde", name)
}

// config holds defaults of flags, read from config.yaml. It is a
// kong.Resolver: the command line and the environment win over it.
type config struct {
	path   string
	values map[string]string
}

// readConfig reads path; nil when the file does not exist.
func readConfig(path string) (*config, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	c := &config{path: path}
	if err := yaml.Unmarshal(data, &c.values); err != nil {
		return nil, fmt.Errorf("%s: %s; it holds flags as \"name: value\"", path, oneLine(err.Error()))
	}
	return c, nil
}

// Validate refuses keys that are no flag.
func (c *config) Validate(app *kong.Application) error {
	var known []string
	for _, group := range app.AllFlags(false) {
		for _, f := range group {
			known = append(known, f.Name)
		}
	}
	for _, cmd := range app.Leaves(false) {
		for _, f := range cmd.Flags {
			known = append(known, f.Name)
		}
	}
	for name := range c.values {
		if !slices.Contains(known, name) {
			return fmt.Errorf("%s: %q is no flag of pgsonde", c.path, name)
		}
	}
	return nil
}

// Resolve gives the file's value of a flag that nothing else has set.
func (c *config) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, env := range flag.Tag.Envs {
		if _, ok := os.LookupEnv(env); ok {
			return nil, nil
		}
	}
	if v, ok := c.values[flag.Name]; ok {
		return v, nil
	}
	return nil, nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
