package explain

import "context"

func (j *judgement) smells() []Finding { return nil }
func (j *judgement) fix(ctx context.Context, catalog Catalog) error { return nil }
