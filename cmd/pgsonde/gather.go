package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// gather puts the arguments of a command that takes many behind its flags: kong ends
// the list at the first flag. Where it does not know a flag all stays for kong to refuse.
func gather(root *kong.Node, args []string) ([]string, error) {
	node := root
	var front, words []string
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "--":
			words = append(words, args[i:]...)
			i = len(args)
		case a != "-" && strings.HasPrefix(a, "-"):
			front = append(front, a)
			takes, known := value(node, a)
			if !known {
				return args, nil
			}
			if takes {
				if i++; i == len(args) {
					return nil, fmt.Errorf("%s needs a value", a)
				}
				front = append(front, args[i])
			}
		case len(words) == 0 && child(node, a) != nil:
			front, node = append(front, a), child(node, a)
		default:
			words = append(words, a)
		}
	}
	if !slices.ContainsFunc(node.Positional, func(p *kong.Positional) bool { return p.IsCumulative() }) {
		return args, nil
	}
	return append(front, words...), nil
}

func child(n *kong.Node, name string) *kong.Node {
	for _, c := range n.Children {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// value reports whether the next argument is a flag's value, and whether the flag is
// known.
func value(n *kong.Node, arg string) (takes, known bool) {
	name, long := strings.CutPrefix(arg, "--")
	name, _, given := strings.Cut(name, "=")
	flags := slices.Concat(n.AllFlags(false)...)
	if long {
		for _, f := range flags {
			if f.Name == name {
				return !given && !f.IsBool() && !f.IsCounter(), true
			}
		}
		return false, false
	}
	short := []rune(arg[1:])
	for i, r := range short {
		j := slices.IndexFunc(flags, func(f *kong.Flag) bool { return f.Short == r })
		switch {
		case j < 0:
			return false, false
		case !flags[j].IsBool() && !flags[j].IsCounter():
			return i == len(short)-1, true
		}
	}
	return false, true
}
