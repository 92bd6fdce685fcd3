package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestREADME runs every `$ pgsonde …` of the README's console blocks and
// compares what it prints. They need no server.
func TestREADME(t *testing.T) {
	t.Chdir("../..")
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) == 0 {
		t.Fatal("the README has no console block")
	}
	for _, b := range blocks {
		for _, one := range strings.Split(b[1], "$ ")[1:] {
			line, want, _ := strings.Cut(one, "\n")
			args := strings.Fields(line)
			if args[0] != "pgsonde" {
				t.Errorf("%s: only pgsonde is run", line)
				continue
			}
			var out bytes.Buffer
			run(t.Context(), args[1:], nil, &out, &out)
			if out.String() != want {
				t.Errorf("$ %s\ngot:\n%s\nwant:\n%s", line, out.String(), want)
			}
		}
	}
}
