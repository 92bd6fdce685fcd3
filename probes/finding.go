package probes

// Severity of a Finding.
type Severity string

// Severities, worst first.
const (
	Error Severity = "error"
	Warn  Severity = "warn"
	Info  Severity = "info"
)

// Finding is one thing that is wrong or noteworthy, as the text and JSON
// outputs of triage, roles, locks, budget and poolers show it.
type Finding struct {
	Rule     string         `json:"rule"` // kebab-case, stable
	Severity Severity       `json:"severity"`
	Subject  string         `json:"subject"` // role, pid, database, …
	SinceS   *float64       `json:"since_s"` // seconds on the server's clock; nil unknown
	Message  string         `json:"message"` // one line
	Action   string         `json:"action"`  // what to do, one line
	Evidence map[string]any `json:"evidence"`
}
