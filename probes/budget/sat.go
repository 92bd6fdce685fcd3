package budget

// tooMany is where sums and products stop: far above any max_connections, far
// below an overflow.
const tooMany = 1_000_000_000

// mul multiplies counts (at least 0), stopping at tooMany.
func mul(ns ...int) int {
	out := 1
	for _, n := range ns {
		if n == 0 {
			return 0
		}
		if out > tooMany/n {
			out = tooMany
		} else {
			out *= n
		}
	}
	return out
}

// add adds counts, stopping at tooMany.
func add(ns ...int) int {
	out := 0
	for _, n := range ns {
		out = min(out+n, tooMany)
	}
	return out
}
