package explain

// Severity of a Finding.
type Severity string

// Severities, worst first.
const (
	Error Severity = "error"
	Warn  Severity = "warn"
	Info  Severity = "info"
)

// Finding is one thing about a statement that is wrong or noteworthy. Its JSON
// is that of the findings of all commands.
type Finding struct {
	Rule     string         `json:"rule"` // kebab-case, stable
	Severity Severity       `json:"severity"`
	Subject  string         `json:"subject"` // the relation, or the part of the statement
	SinceS   *float64       `json:"since_s"` // always null here
	Message  string         `json:"message"` // one line
	Action   string         `json:"action"`  // what to do, one line
	Evidence map[string]any `json:"evidence"`
}
