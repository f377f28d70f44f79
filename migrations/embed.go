// Package migrations holds the schema: numbered SQL files that goose applies in order, forward only.
package migrations

import "embed"

// FS holds the files.
//
//go:embed *.sql
var FS embed.FS
