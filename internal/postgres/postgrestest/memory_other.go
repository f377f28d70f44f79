//go:build unix && !linux

package postgrestest

// memory is "", the folder for temporary files: only Linux has one in memory at a place that is known.
func memory() string { return "" }
