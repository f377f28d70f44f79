// Command protoprint writes the .proto sources of descriptors that are compiled into Go modules, so that buf can import them without a
// registry. It is a module of its own: what it needs is no requirement of the service.
//
//	protoprint DIRECTORY FILE...
package main

import (
	"fmt"
	"os"

	_ "buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate" // registers buf/validate/validate.proto
	"github.com/jhump/protoreflect/v2/protoprint"
	_ "google.golang.org/genproto/googleapis/rpc/status" // registers google/rpc/status.proto
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: protoprint DIRECTORY FILE...")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "protoprint:", err)
		os.Exit(1)
	}
}

// write prints the named files below a directory, under the paths by which they are imported.
func write(dir string, names []string) error {
	files := make([]protoreflect.FileDescriptor, 0, len(names))
	for _, name := range names {
		file, err := protoregistry.GlobalFiles.FindFileByPath(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		files = append(files, file)
	}
	var printer protoprint.Printer
	return printer.PrintProtosToFileSystem(files, dir)
}
