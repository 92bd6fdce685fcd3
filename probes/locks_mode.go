package probes

import "fmt"

// LockMode is a heavyweight lock mode, weakest first, as in the server's
// lockdefs.h.
type LockMode uint8

// Lock modes.
const (
	NoLock LockMode = iota // unknown, or not a lock that blocks (SIReadLock)
	AccessShareLock
	RowShareLock
	RowExclusiveLock
	ShareUpdateExclusiveLock
	ShareLock
	ShareRowExclusiveLock
	ExclusiveLock
	AccessExclusiveLock
)

func modeName(m LockMode) string {
	switch m {
	case AccessShareLock:
		return "AccessShareLock"
	case RowShareLock:
		return "RowShareLock"
	case RowExclusiveLock:
		return "RowExclusiveLock"
	case ShareUpdateExclusiveLock:
		return "ShareUpdateExclusiveLock"
	case ShareLock:
		return "ShareLock"
	case ShareRowExclusiveLock:
		return "ShareRowExclusiveLock"
	case ExclusiveLock:
		return "ExclusiveLock"
	case AccessExclusiveLock:
		return "AccessExclusiveLock"
	}
	return ""
}

// String is the mode as pg_locks shows it, "" for NoLock.
func (m LockMode) String() string { return modeName(m) }

// ParseLockMode reads a mode as pg_locks shows it; anything else is NoLock.
func ParseLockMode(s string) LockMode {
	for m := AccessShareLock; m <= AccessExclusiveLock; m++ {
		if modeName(m) == s {
			return m
		}
	}
	return NoLock
}

// MarshalText writes the mode as pg_locks shows it.
func (m LockMode) MarshalText() ([]byte, error) { return []byte(modeName(m)), nil }

// UnmarshalText reads what MarshalText wrote.
func (m *LockMode) UnmarshalText(b []byte) error {
	*m = ParseLockMode(string(b))
	if *m == NoLock && len(b) > 0 {
		return fmt.Errorf("unknown lock mode %q", b)
	}
	return nil
}

// Bit is the mode's bit in a mask of modes.
func (m LockMode) Bit() uint16 { return 1 << m }

// Conflicts is the mask of modes that conflict with m (the server's
// LockConflicts table; symmetric).
func (m LockMode) Conflicts() uint16 {
	const (
		as  = 1 << AccessShareLock
		rs  = 1 << RowShareLock
		rx  = 1 << RowExclusiveLock
		sux = 1 << ShareUpdateExclusiveLock
		s   = 1 << ShareLock
		srx = 1 << ShareRowExclusiveLock
		x   = 1 << ExclusiveLock
		ax  = 1 << AccessExclusiveLock
	)
	switch m {
	case AccessShareLock:
		return ax
	case RowShareLock:
		return x | ax
	case RowExclusiveLock:
		return s | srx | x | ax
	case ShareUpdateExclusiveLock:
		return sux | s | srx | x | ax
	case ShareLock:
		return rx | sux | srx | x | ax
	case ShareRowExclusiveLock:
		return rx | sux | s | srx | x | ax
	case ExclusiveLock:
		return rs | rx | sux | s | srx | x | ax
	case AccessExclusiveLock:
		return as | rs | rx | sux | s | srx | x | ax
	}
	return 0
}
