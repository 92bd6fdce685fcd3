package pgserver

import (
	"fmt"
	"os"
	"path/filepath"
)

// Sizes of a relation's files in every build that anybody ships.
const (
	blockSize     = 8192
	segmentBlocks = 1 << 17 // 1 GB a file
)

// Extend makes a relation's main file at least so many 8 kB pages long, as far
// as a planner looks: by holes, which take no disk and read as new, empty pages.
// The path is that of pg_relation_filepath. The server may run: it learns a
// file's length when it asks.
func (s *Server) Extend(path string, pages int64) error {
	base := filepath.Join(s.dataDir(), filepath.FromSlash(path))
	for segment := int64(0); pages > 0; segment++ {
		name := base
		if segment > 0 {
			name = fmt.Sprintf("%s.%d", base, segment)
		}
		if err := s.extendFile(name, min(pages, segmentBlocks)*blockSize, segment > 0); err != nil {
			return fmt.Errorf("extending a relation: %w", err)
		}
		pages -= segmentBlocks
	}
	return nil
}

// extendFile makes one segment size bytes long, unless it is longer.
func (s *Server) extendFile(name string, size int64, create bool) error {
	flags := os.O_WRONLY
	if create {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(name, flags, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if create {
		if err := s.acct.own(name); err != nil {
			return err
		}
	}
	if st, err := f.Stat(); err != nil || st.Size() >= size {
		return err
	}
	return f.Truncate(size)
}
