package embedded

import (
	"errors"
	"fmt"
	"os"
	osuser "os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// user is whom the server runs as when that is not us; nil is us.
type user struct {
	name     string
	uid, gid int
}

// serverUser is nil unless we are root, as whom PostgreSQL refuses to run. A cluster that exists already keeps its owner.
func serverUser(data string) (*user, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	if info, err := os.Stat(data); err == nil {
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid != 0 {
			return &user{fmt.Sprintf("with the id %d", stat.Uid), int(stat.Uid), int(stat.Gid)}, nil
		}
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := osuser.Lookup(name)
		if err != nil {
			continue
		}
		uid, uerr := strconv.Atoi(u.Uid)
		gid, gerr := strconv.Atoi(u.Gid)
		if uerr == nil && gerr == nil && uid != 0 {
			return &user{name, uid, gid}, nil
		}
	}
	return nil, errors.New("embedded: PostgreSQL does not run as root, and there is no user postgres or nobody to run it as: " +
		"make one, or run this program as another user")
}

func (u *user) credential() *syscall.Credential {
	if u == nil {
		return nil
	}
	return &syscall.Credential{Uid: uint32(u.uid), Gid: uint32(u.gid)}
}

// own gives a file or folder of ours to the server's user.
func (u *user) own(path string) error {
	if u == nil {
		return nil
	}
	if err := os.Lchown(path, u.uid, u.gid); err != nil {
		return fmt.Errorf("embedded: give %s to the user %s: %w", path, u.name, err)
	}
	return nil
}

func (u *user) mayOwn(uid int) bool {
	return uid == os.Geteuid() || u != nil && uid == u.uid
}

// reach makes sure that the server's user can enter the folder. The folder itself is ours to open (what lies in it is closed
// again); one further up is not, and PostgreSQL's own words for it would mislead.
func (u *user) reach(dir string) error {
	if u == nil {
		return nil
	}
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return fmt.Errorf("embedded: %w", err)
		}
		if !u.enters(info) {
			if at != dir {
				return fmt.Errorf("embedded: the server runs as the user %s, who cannot enter %s: chmod o+x it, or use another folder than %s",
					u.name, at, dir)
			}
			if err := os.Chmod(at, info.Mode().Perm()|0o011); err != nil {
				return fmt.Errorf("embedded: open the folder for the server's user: %w", err)
			}
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

func (u *user) enters(dir os.FileInfo) bool {
	stat, ok := dir.Sys().(*syscall.Stat_t)
	if !ok {
		return true
	}
	mode := dir.Mode().Perm()
	switch {
	case int(stat.Uid) == u.uid:
		return mode&0o100 != 0
	case int(stat.Gid) == u.gid:
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
}
