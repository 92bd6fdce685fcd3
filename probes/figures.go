package probes

import "fmt"

// OutOf is "24 of 25 connections", and of more than the limit lets be "27
// connections, 2 over the cap of 25". noun may be "".
func OutOf(n, limit int, noun, name string) string {
	if noun != "" {
		noun = " " + noun
	}
	if n > limit {
		return fmt.Sprintf("%d%s, %s", n, noun, Over(n, limit, name))
	}
	return fmt.Sprintf("%d of %d%s", n, limit, noun)
}

// Over is "2 over the cap of 25".
func Over(n, limit int, name string) string {
	return fmt.Sprintf("%d over the %s of %d", n-limit, name, limit)
}
