package main

import (
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
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
)

var sarifLevels = map[explain.Severity]string{explain.Error: "error", explain.Warn: "warning", explain.Info: "note"}

func sarifLog(d *explainDoc) sarif {
	run := sarifRun{Tool: sarifTool{sarifDriver{Name: "pgsonde", Version: version, Rules: []sarifRule{}}}, Results: []sarifResult{}}
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
			run.Results = append(run.Results, sarifResult{f.Rule, sarifLevels[f.Severity], sarifText{text}, sarifPlace(q.Source)})
		}
	}
	return sarif{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}
}

// sarifPlace makes a location of "file:line"; none for what is in no file.
func sarifPlace(source string) []sarifLocation {
	i := strings.LastIndexByte(source, ':')
	if i < 0 {
		return nil
	}
	line, err := strconv.Atoi(source[i+1:])
	if err != nil || source[:i] == "-c" || source[:i] == "stdin" {
		return nil
	}
	return []sarifLocation{{sarifPhysical{sarifArtifact{filepath.ToSlash(source[:i])}, &sarifRegion{line}}}}
}
