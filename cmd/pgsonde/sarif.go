package main

import (
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pgsonde/pgsonde/explain"
)

// SARIF 2.1.0, as far as code scanning reads it.
type (
	sarif struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Columns string        `json:"columnKind"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID     string       `json:"id"`
		Short  sarifText    `json:"shortDescription"`
		Config *sarifConfig `json:"defaultConfiguration,omitempty"`
	}
	sarifConfig struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
		Fixes     []sarifFix      `json:"fixes,omitempty"`
	}
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	// sarifRegion: lines and columns from 1, columns in UTF-16 units, the end
	// exclusive; the same in bytes of the file, from 0.
	sarifRegion struct {
		StartLine   int  `json:"startLine"`
		StartColumn int  `json:"startColumn,omitempty"`
		EndLine     int  `json:"endLine,omitempty"`
		EndColumn   int  `json:"endColumn,omitempty"`
		ByteOffset  *int `json:"byteOffset,omitempty"`
		ByteLength  *int `json:"byteLength,omitempty"`
	}
	sarifFix struct {
		Description sarifText     `json:"description"`
		Changes     []sarifChange `json:"artifactChanges"`
	}
	sarifChange struct {
		Artifact     sarifArtifact      `json:"artifactLocation"`
		Replacements []sarifReplacement `json:"replacements"`
	}
	sarifReplacement struct {
		Deleted  sarifRegion `json:"deletedRegion"`
		Inserted sarifText   `json:"insertedContent"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
	}
)

var sarifLevels = map[explain.Severity]string{explain.Error: "error", explain.Warn: "warning", explain.Info: "note"}

func sarifLog(d *explainDoc) sarif {
	run := sarifRun{
		Tool:    sarifTool{sarifDriver{Name: "pgsonde", Version: version, Rules: []sarifRule{}}},
		Columns: "utf16CodeUnits", Results: []sarifResult{},
	}
	for _, r := range explainRules() {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{
			ID: r.Rule, Short: sarifText{r.Meaning}, Config: &sarifConfig{sarifLevels[explain.Severity(r.Severity)]},
		})
	}
	for _, q := range d.Queries {
		for _, f := range q.Findings {
			text := f.Message
			if f.Action != "" {
				text += ". " + f.Action
			}
			if q.Fix != nil && f.Severity == explain.Error && q.Fix.SQL != "" {
				text += "\n\n" + q.Fix.SQL
			}
			run.Results = append(run.Results, sarifResult{f.Rule, sarifLevels[f.Severity], sarifText{text}, sarifPlace(q, f), sarifFixes(q, f)})
		}
	}
	return sarif{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}
}

// sarifPlace is where a finding is in its file: its own place where it knows one,
// else that of its statement. What is in no file has its name.
func sarifPlace(q *judged, f explain.Finding) []sarifLocation {
	if q.file == "" {
		return []sarifLocation{{Logical: []sarifLogical{{q.Source}}}}
	}
	place := &sarifPhysical{Artifact: sarifArtifact{fileURI(q.file)}}
	line, err := strconv.Atoi(strings.TrimPrefix(q.Source, q.file+":"))
	if n, ok := f.Evidence["line"].(int); ok {
		line, err = n, nil
	}
	start, ok := f.Evidence["start"].(int)
	end, ok2 := f.Evidence["end"].(int)
	switch hasLine := f.Evidence["line"] != nil; {
	case q.text != "" && ok && ok2 && start >= 0 && start < end && end <= len(q.SQL):
		place.Region = sarifRange(q.text, q.at+start, q.at+end)
	case q.text != "" && !hasLine:
		place.Region = sarifRange(q.text, q.at, q.at+len(q.SQL))
	case err == nil && line > 0:
		place.Region = &sarifRegion{StartLine: line}
	}
	return []sarifLocation{{Physical: place}}
}

// fileURI is a path as a URI reference: relative as it was named, its special
// characters escaped.
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if filepath.IsAbs(path) {
		return (&url.URL{Scheme: "file", Path: path}).String()
	}
	return (&url.URL{Path: path}).String()
}
