package tui

import (
	"errors"
	"os"
	"strings"

	"github.com/charmbracelet/colorprofile"

	"github.com/pgsonde/pgsonde/tui/theme"
)

// environment is what the terminal's environment variables say; nothing else
// in the package reads them.
type environment struct {
	all   []string
	utf8  bool
	light bool
	tmux  bool
}

func readEnv(env []string) environment {
	if env == nil {
		env = os.Environ()
	}
	get := lookup(env)
	e := environment{all: env, tmux: get("TMUX") != ""}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(get(name)); v != "" {
			e.utf8 = strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
			break
		}
	}
	// COLORFGBG is "foreground;background"; 7 and 15 are the light ones.
	if v := get("COLORFGBG"); v != "" {
		back := v[strings.LastIndexByte(v, ';')+1:]
		e.light = back == "7" || back == "15"
	}
	return e
}

// lookup finds the last value of a variable, as the system does.
func lookup(env []string) func(string) string {
	return func(name string) string {
		for i := len(env) - 1; i >= 0; i-- {
			if v, ok := strings.CutPrefix(env[i], name+"="); ok {
				return v
			}
		}
		return ""
	}
}

// CheckTerminal says why the UI cannot run here; nil when it can. env is the
// environment, isTTY says that both input and output are terminals.
func CheckTerminal(env []string, isTTY bool) error {
	const hint = "; `pgsonde roles --watch` prints the same as text"
	switch term := lookup(env)("TERM"); {
	case !isTTY:
		return errors.New("the terminal UI needs a terminal on stdin and stdout" + hint)
	case term == "" || term == "dumb":
		return errors.New("the terminal UI needs more than TERM=" + term + hint)
	}
	return nil
}

// themeMode picks the palette from what was asked for and what the terminal
// can do.
func themeMode(o Options, env environment, profile colorprofile.Profile) theme.Mode {
	switch {
	case profile <= colorprofile.ASCII:
		return theme.Plain
	case profile == colorprofile.ANSI:
		return theme.Sixteen
	case o.Theme == "light", o.Theme != "dark" && env.light:
		return theme.Light
	}
	return theme.Dark
}
