// A peer of slotmark-node on gouroboros, for tests: it serves a chain to a node, asks a node about its ledger,
// and takes the transactions of the load in the place of a node.
package main

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "peer: %v\nusage: serve --magic N --listen HOST:PORT FILE FILE | ask --magic N --socket PATH --address HEX | "+
			"take --magic N --listen HOST:PORT --genesis FOLDER [--most N]\n", err)
		os.Exit(1)
	}
}

func run(words []string) error {
	if len(words) == 0 {
		return errors.New("expected serve, ask or take")
	}
	flags := flag.NewFlagSet(words[0], flag.ContinueOnError)
	magic := flags.Uint64("magic", math.MaxUint64, "")
	listen := flags.String("listen", "", "")
	socket := flags.String("socket", "", "")
	address := flags.String("address", "", "")
	genesis := flags.String("genesis", "", "")
	most := flags.Uint64("most", math.MaxUint64, "")
	if err := flags.Parse(words[1:]); err != nil {
		return err
	}
	if *magic > math.MaxUint32 {
		return errors.New("--magic: expected a number of 32 bits")
	}
	switch words[0] {
	case "serve":
		return serve(uint32(*magic), *listen, flags.Args())
	case "ask":
		return ask(uint32(*magic), *socket, *address)
	case "take":
		return take(uint32(*magic), *listen, *genesis, *most)
	default:
		return fmt.Errorf("%s: expected serve, ask or take", words[0])
	}
}
