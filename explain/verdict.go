package explain

// Verdict says where the scan that feeds a page starts.
type Verdict string

// Verdicts, worst first. What each means for a page at cursor position n of N:
const (
	// StartsAtOldest reads and throws away the n rows before the cursor.
	StartsAtOldest Verdict = "starts-at-oldest"
	// SortsWholeTable reads all N rows and sorts them.
	SortsWholeTable Verdict = "sorts-whole-table"
	// ReadsAllAfterCursor reads the N-n rows behind the cursor, or most of them.
	ReadsAllAfterCursor Verdict = "reads-all-after-cursor"
	// StartsAtCursor reads about a page.
	StartsAtCursor Verdict = "starts-at-cursor"
	// NotApplicable is a statement that does not page.
	NotApplicable Verdict = "not-applicable"
	// Unknown is a statement that could not be judged; a finding says why.
	Unknown Verdict = "unknown"
)

// rank orders verdicts, worst highest.
func (v Verdict) rank() int {
	switch v {
	case StartsAtOldest:
		return 5
	case SortsWholeTable:
		return 4
	case ReadsAllAfterCursor:
		return 3
	case StartsAtCursor:
		return 2
	case NotApplicable:
		return 1
	}
	return 0
}

// Class says what rule decided about one scan.
type Class string

// Classes of scans. The first five start the scan before the cursor.
const (
	PrefixScan Class = "prefix-scan" // the filter implies a start that the index condition lacks
	WeakStart  Class = "weak-start"  // the scan starts at a looser limit than the cursor
	WeakBound  Class = "weak-bound"  // it starts at the cursor's first key, which many rows share
	NullBranch Class = "null-branch" // every branch but IS NULL bounds the key
	OpaqueKey  Class = "opaque-key"  // the key is inside CASE, a cast, a collation or a function
	Seek       Class = "seek"        // it starts at the cursor
	FromStart  Class = "from-start"  // it starts at the first row and nothing says otherwise: a first page
	FullSort   Class = "full-sort"   // everything is read unordered, then sorted
	PartSort   Class = "part-sort"   // what an index condition leaves is read unordered, then sorted
	Unpaged    Class = "unpaged"     // not under a limit
	NoIndex    Class = "no-index"    // the index is not in the catalog
)

// early reports a class whose scan starts before the cursor.
func (c Class) early() bool {
	switch c {
	case PrefixScan, WeakStart, WeakBound, NullBranch, OpaqueKey:
		return true
	}
	return false
}

// Starts is the mark of a scan in a drawn plan: "oldest", "cursor", "first" (a
// first page), "all" (unordered), "" for a scan that feeds no page.
func (c Class) Starts() string {
	switch {
	case c.early():
		return "oldest"
	case c == Seek:
		return "cursor"
	case c == FromStart:
		return "first"
	case c == FullSort, c == PartSort:
		return "all"
	}
	return ""
}

// verdict is what a scan of the class makes of its statement.
func (c Class) verdict() Verdict {
	switch {
	case c.early():
		return StartsAtOldest
	case c == FullSort:
		return SortsWholeTable
	case c == PartSort:
		return ReadsAllAfterCursor
	case c == Seek:
		return StartsAtCursor
	case c == NoIndex:
		return Unknown
	}
	return NotApplicable
}

// Limits of the rules.
const (
	tinyRows       = 2000  // tables with fewer rows are not worth a finding
	tinyCost       = 40    // what the planner takes for a scan of a few hundred rows
	manyPerValue   = 1000  // rows that share a value of the first key, from which a bound on it is weak
	fewSorted      = 1000  // rows that may be sorted for a page without a finding
	lossyShare     = 0.02  // of the rows behind the cursor that the rest of the filter keeps: fewer is "reads all"
	farRows        = 10000 // rows read for one page, from which it "reads all"
	costMargin     = 1.05  // times the cost before that a fix may cost which does not start at the cursor
	unknownTable   = -1.0
	defaultPageRow = 50
)
