package budget

import "github.com/pgsonde/pgsonde/probes"

func planFindings(f *File, p *plan, s *Sum) []probes.Finding { return nil }
func lintFindings(f *File, p *plan) []probes.Finding         { return nil }
