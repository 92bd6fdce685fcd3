package explain

// PlanRules lists the rules that a judgement takes from plans; SmellRules lists
// those it takes from the text.
func PlanRules() []Rule {
	return []Rule{
		{"cursor-starts-at-oldest", Error, "the filter implies where the page starts, but the index condition does not say it: all rows before the cursor are read and thrown away (an info where equalities leave few rows in all)"},
		{"cursor-starts-at-looser-limit", Error, "the scan starts at another, looser limit than the cursor (an info where both may be the same value)"},
		{"cursor-bound-on-few-values", Error, "the scan starts at the cursor's first key, but many rows share that value, as where a row comparison has keys that go different ways"},
		{"cursor-null-branch", Error, "every branch of the condition but IS NULL bounds the key, so no single scan can start at the cursor"},
		{"filter-on-sort-keys", Warn, "the filter compares the page's keys, but in no way that a scan can start with: each in a branch of its own, or several as one value"},
		{"cursor-key-hidden", Error, "the key is inside CASE, a cast, a collation or an expression (a warning), so its comparison cannot be an index condition"},
		{"page-sorts-whole-table", Warn, "no index gives the page's order: every page reads everything and sorts it (an error where the cursor would not start at its row with an index either)"},
		{"page-reads-all-after-cursor", Warn, "the scan starts at the cursor, but the rest of the filter keeps few of the rows behind it"},
		{"page-sorts-filtered-rows", Info, "the rows that an index condition leaves are read and sorted for the page, which has no cursor to tell how many"},
		{"plan-flips-at-sixth-execution", Warn, "a prepared statement that plans well with its values changes to a generic plan that starts at the first row"},
		{"unlimited-without-bound", Info, "no page, but the rows before the cursor are read for nothing"},
		{"index-not-known", Info, "the plan names an index that the catalog does not have"},
		{"judged-without-catalog", Info, "a plan was judged without its server: index columns and table sizes are not known"},
		{"ties-not-known", Info, "the scan starts at the cursor's first key, and there are no statistics to tell how many rows share a value of it"},
		{"rows-thrown-away", Warn, "an executed plan read more than ten times the rows it kept, before the cursor"},
		{"statement-not-judged", Warn, "the server did not plan the statement"},
		{"statement-not-executed", Info, "analyze was asked for, but the statement, or one of its cases, was not executed"},
		{"parameter-value-refused", Warn, "the server does not take a value that was given for a parameter"},
		{"statement-refused", Warn, "the statement is not one that may be explained (an info where it is whole, but no query)"},
	}
}
