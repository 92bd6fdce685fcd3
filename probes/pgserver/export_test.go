package pgserver

// WithoutWatchdog is for the test of the sweep.
func WithoutWatchdog(o Options) Options {
	o.noWatchdog = true
	return o
}

// Sweep runs the sweep of a folder as Start does.
func Sweep(base string) error {
	acct, err := pickAccount()
	if err != nil {
		return err
	}
	sweep(base, acct)
	return nil
}
