package postgrestest

import (
	"io/fs"
	"testing/fstest"

	"github.com/settlementd/settlementd/migrations"
)

func migrationFiles() fs.FS {
	if found, _ := fs.Glob(migrations.FS, "*.sql"); len(found) > 0 {
		return migrations.FS
	}
	return fstest.MapFS{"00001_role.sql": {Data: []byte("-- +goose Up\nCREATE ROLE settlementd_service LOGIN;\n")}}
}
