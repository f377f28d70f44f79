//go:build faults

package main

import (
	"fmt"
	"os"
)

// A program built with the tag faults stops for ever at the point of a job's chunk that SETTLEMENTD_FAULT names, and says so on standard
// output: to be killed there.
func init() {
	fault = func(point string) error {
		if point == os.Getenv("SETTLEMENTD_FAULT") {
			fmt.Println("stopped at", point)
			select {}
		}
		return nil
	}
}
