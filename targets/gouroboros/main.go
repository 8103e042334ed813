// gouroboros as a target of slotmark: see docs/targets.md for the contract.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	ouroboros "github.com/blinklabs-io/gouroboros"
	pcommon "github.com/blinklabs-io/gouroboros/protocol/common"
)

// version is the library's; go.mod pins it.
const version = "0.194.0"

type job struct {
	socket, address, mode string
	magic                 uint32
	start                 pcommon.Point
	blocks, depth, every  uint64
}

var epoch = time.Now()

func nowNs() int64 { return time.Since(epoch).Nanoseconds() }

func main() {
	if len(os.Args) >= 2 && os.Args[1] == "describe" {
		say(map[string]any{
			"contract": 1, "name": "gouroboros", "version": version, "language": "Go", "toolchain": runtime.Version(),
			"modes": map[string]int{"raw": 100, "decode": 100, "headers": 100, "fetch": 1000},
		})
		return
	}
	job, err := arguments()
	if err != nil {
		fmt.Fprintf(os.Stderr, "slotmark-target-gouroboros: %v\nusage: describe | run (--socket PATH | --address HOST:PORT) --magic N --start POINT --blocks N --mode MODE --depth N --progress-every N\n", err)
		os.Exit(2)
	}
	if err := run(job); err != nil {
		say(map[string]any{"event": "error", "message": strings.Join(strings.Fields(err.Error()), " ")})
		os.Exit(1)
	}
}

func arguments() (job, error) {
	var j job
	if len(os.Args) < 2 || os.Args[1] != "run" {
		return j, errors.New("expected describe or run")
	}
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&j.socket, "socket", "", "")
	flags.StringVar(&j.address, "address", "", "")
	flags.StringVar(&j.mode, "mode", "", "")
	magic := flags.Uint64("magic", 0, "")
	start := flags.String("start", "", "")
	flags.Uint64Var(&j.blocks, "blocks", 0, "")
	flags.Uint64Var(&j.depth, "depth", 0, "")
	flags.Uint64Var(&j.every, "progress-every", 0, "")
	if err := flags.Parse(os.Args[2:]); err != nil {
		return j, err
	}
	j.magic = uint32(*magic)
	if j.blocks == 0 || j.depth == 0 || j.every == 0 || flags.NArg() > 0 {
		return j, errors.New("--blocks, --depth and --progress-every must be 1 or more")
	}
	clientSide := j.mode == "raw" || j.mode == "decode"
	if !clientSide && j.mode != "headers" && j.mode != "fetch" {
		return j, fmt.Errorf("--mode %s: expected raw, decode, headers or fetch", j.mode)
	}
	if clientSide && j.socket == "" || !clientSide && j.address == "" {
		return j, errors.New("raw and decode go with --socket, headers and fetch with --address")
	}
	if *start == "origin" {
		j.start = pcommon.NewPointOrigin()
		return j, nil
	}
	slotText, hashText, _ := strings.Cut(*start, ".")
	slot, err := strconv.ParseUint(slotText, 10, 64)
	hash, hashErr := hex.DecodeString(hashText)
	if err != nil || hashErr != nil || len(hash) != 32 {
		return j, fmt.Errorf("--start %s: expected SLOT.HASH or origin", *start)
	}
	j.start = pcommon.NewPoint(slot, hash)
	return j, nil
}

func run(j job) error {
	errs := make(chan error, 16)
	follower := newFollower(j)
	blockFetch, err := follower.blockFetch()
	if err != nil {
		return err
	}
	began := nowNs()
	connection, err := ouroboros.NewConnection(
		ouroboros.WithNetworkMagic(j.magic),
		ouroboros.WithNodeToNode(j.address != "" && j.socket == "" || j.mode == "headers" || j.mode == "fetch"),
		ouroboros.WithKeepAlive(j.mode == "headers" || j.mode == "fetch"),
		ouroboros.WithErrorChan(errs),
		ouroboros.WithLogger(slog.New(slog.DiscardHandler)),
		ouroboros.WithChainSyncConfig(follower.chainSync()),
		ouroboros.WithBlockFetchConfig(blockFetch),
	)
	if err != nil {
		return err
	}
	follower.connection = connection
	if j.mode == "raw" || j.mode == "decode" {
		err = connection.Dial("unix", j.socket)
	} else {
		err = connection.Dial("tcp", j.address)
	}
	if err != nil {
		return fmt.Errorf("can't connect: %w", err)
	}
	at := nowNs()
	number, _ := connection.ProtocolVersion()
	say(map[string]any{"event": "ready", "at_ns": at, "connect_ns": at - began, "version": number})
	stdin := bufio.NewReader(os.Stdin)
	if _, err := stdin.ReadString('\n'); err != nil {
		return fmt.Errorf("no word to start: %w", err)
	}

	follower.records.started()
	go func() {
		// One call finds the intersection and begins to follow, so `started` is before both.
		if err := connection.ChainSync().Client.Sync([]pcommon.Point{j.start}); err != nil {
			errs <- err
		}
	}()
	select {
	case <-follower.finished:
	case err := <-errs:
		if err == nil || errors.Is(err, io.EOF) {
			err = errors.New("the server closed the connection")
		}
		return err
	}
	follower.records.finish()
	_, _ = io.Copy(io.Discard, stdin)
	return nil
}

func say(record map[string]any) {
	line, err := json.Marshal(record)
	if err != nil {
		panic(err) // maps of strings and numbers always have a JSON form
	}
	_, _ = os.Stdout.Write(append(line, '\n'))
}
