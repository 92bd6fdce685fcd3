package tui

import (
	"os"
	"strings"
	"testing"

	"github.com/pgsonde/pgsonde/probes"
)

func TestKeysAreDeclaredOnce(t *testing.T) {
	seen, acts := map[string]string{}, map[action]bool{}
	for _, b := range bindings() {
		if acts[b.act] {
			t.Errorf("%q: its action is declared twice", b.Help().Desc)
		}
		acts[b.act] = true
		if len(b.Help().Desc) > 24 || len(b.Help().Desc) == 0 {
			t.Errorf("%q does not fit the help", b.Help().Desc)
		}
		for _, k := range b.Keys() {
			if other, ok := seen[k]; ok {
				t.Errorf("key %q is both %q and %q", k, other, b.Help().Desc)
			}
			seen[k] = b.Help().Desc
		}
	}
	for a := actUp; a <= actPalette; a++ {
		if !acts[a] {
			t.Errorf("action %d has no key", a)
		}
	}
}

func TestKeyTable(t *testing.T) { golden(t, "keys", KeyTable()) }

func TestFooterKeysExist(t *testing.T) {
	k := newKeymap()
	screens := []screen{newSession(probes.Session{}), newRole(draw(t, 80, 24, Options{}, nil).theme.Glyphs, "x")}
	for _, v := range views(draw(t, 80, 24, Options{}, nil).theme.Glyphs) {
		screens = append(screens, v.top())
	}
	for _, s := range screens {
		for _, a := range s.keys() {
			if key, word := k.short(a); key == "" || word == "" {
				t.Errorf("%s: action %d has no key or no word", s.name(), a)
			}
		}
	}
}

// TestREADMEHasTheKeys keeps the README's table of keys equal to the declared ones.
func TestREADMEHasTheKeys(t *testing.T) {
	b, err := os.ReadFile("../README.md")
	if err != nil || !strings.Contains(string(b), "| key | does |") {
		t.Skip("the README has no table of keys")
	}
	if !strings.Contains(string(b), KeyTable()) {
		t.Errorf("the README's keys are stale; its table should be\n%s", KeyTable())
	}
}

// TestKeysWithoutAListSaySo: a key that has nothing to work on is not silent.
func TestKeysWithoutAListSaySo(t *testing.T) {
	d := draw(t, 80, 24, Options{}, recorded(t, "incident"))
	d.press("enter", "s")
	d.has("an order of its own")
	d.press("j", "enter", "/")
	d.has("there is no list on this screen")
	if d.input != nil {
		t.Error("a prompt is open")
	}
}
