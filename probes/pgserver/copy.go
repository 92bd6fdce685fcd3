package pgserver

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
)

// copyTree copies folders and regular files of src to dst, which it makes, and
// gives all of it to the account. A cluster has a thousand small files: four
// copies at a time.
func copyTree(src, dst string, acct account) error {
	var g errgroup.Group
	g.SetLimit(4)
	err := filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}
		to := filepath.Join(dst, rel)
		switch {
		case d.IsDir():
			if err := os.Mkdir(to, 0o700); err != nil {
				return err
			}
			return acct.own(to)
		case d.Type().IsRegular():
			g.Go(func() error { return copyFile(path, to, acct) })
		}
		return nil
	})
	return errors.Join(err, g.Wait())
}

func copyFile(from, to string, acct account) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r) // copy_file_range where there is one
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	return acct.own(to)
}
