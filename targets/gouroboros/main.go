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
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	ouroboros "github.com/blinklabs-io/gouroboros"
	"github.com/blinklabs-io/gouroboros/protocol/blockfetch"
	"github.com/blinklabs-io/gouroboros/protocol/chainsync"
	pcommon "github.com/blinklabs-io/gouroboros/protocol/common"
)

// version is the library's; go.mod pins it.
const version = "0.194.0"

type job struct {
	socket, address, mode string
	magic                 uint32
	start                 pcommon.Point
	blocks, depth, every  uint64
	tip                   bool // follow, not run: without blocks, depth and every
}

var epoch = time.Now()

func nowNs() int64 { return time.Since(epoch).Nanoseconds() }

func main() {
	if len(os.Args) >= 2 && os.Args[1] == "describe" {
		say(map[string]any{
			"contract": 1, "name": "gouroboros", "version": version, "language": "Go", "toolchain": runtime.Version(),
			"modes": deepest, "follow": []string{"raw", "decode", "headers", "fetch"},
		})
		return
	}
	job, err := arguments(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "slotmark-target-gouroboros: %v\nusage: describe | run (--socket PATH | --address HOST:PORT) --magic N --start POINT --blocks N --mode MODE --depth N --progress-every N | follow (--socket PATH | --address HOST:PORT) --magic N --start POINT --mode MODE\n", err)
		os.Exit(2)
	}
	work := run
	if job.tip {
		work = followTip
	}
	if err := work(job); err != nil {
		say(map[string]any{"event": "error", "message": strings.Join(strings.Fields(err.Error()), " ")})
		os.Exit(1)
	}
}

// deepest is what each mode takes at most: the library's own limit, and in fetch the longest range asked for.
var deepest = map[string]uint64{
	"raw":     chainsync.MaxPipelineLimit,
	"decode":  chainsync.MaxPipelineLimit,
	"headers": chainsync.MaxPipelineLimit,
	"fetch":   1000,
}

func arguments(words []string) (job, error) {
	var j job
	if len(words) == 0 || words[0] != "run" && words[0] != "follow" {
		return j, errors.New("expected describe, run or follow")
	}
	j.tip = words[0] == "follow"
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&j.socket, "socket", "", "")
	flags.StringVar(&j.address, "address", "", "")
	flags.StringVar(&j.mode, "mode", "", "")
	magic := flags.Int64("magic", -1, "")
	start := flags.String("start", "", "")
	if j.tip {
		j.blocks, j.depth, j.every = 1, 1, 1
	} else {
		flags.Uint64Var(&j.blocks, "blocks", 0, "")
		flags.Uint64Var(&j.depth, "depth", 0, "")
		flags.Uint64Var(&j.every, "progress-every", 0, "")
	}
	if err := flags.Parse(words[1:]); err != nil {
		return j, err
	}
	if flags.NArg() > 0 {
		return j, fmt.Errorf("%s: not an argument of %s", flags.Arg(0), words[0])
	}
	if *magic < 0 || *magic > math.MaxUint32 {
		return j, errors.New("--magic: expected a number of 32 bits")
	}
	j.magic = uint32(*magic)
	if j.blocks == 0 || j.depth == 0 || j.every == 0 {
		return j, errors.New("--blocks, --depth and --progress-every must be 1 or more")
	}
	if most, known := deepest[j.mode]; !known {
		return j, fmt.Errorf("--mode %s: expected raw, decode, headers or fetch", j.mode)
	} else if j.depth > most {
		return j, fmt.Errorf("--depth %d: this mode takes %d at most", j.depth, most)
	}
	if j.nodeToNode() && j.address == "" || !j.nodeToNode() && j.socket == "" {
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
		return j, fmt.Errorf("--start %s: expected SLOT.HASH, the hash in 64 hex digits, or origin", *start)
	}
	j.start = pcommon.NewPoint(slot, hash)
	return j, nil
}

// nodeToNode says which of the two protocol families the mode belongs to.
func (j job) nodeToNode() bool { return j.mode == "headers" || j.mode == "fetch" }

func run(j job) error {
	follower := newFollower(j)
	blockFetch, err := follower.blockFetch()
	if err != nil {
		return err
	}
	connection, stdin, err := connect(j, nowNs, follower.chainSync(), blockFetch)
	if err != nil {
		return err
	}
	follower.connection = connection
	if err := follow(follower, connection); err != nil {
		return err
	}
	follower.records.finish()
	_, _ = io.Copy(io.Discard, stdin)
	return nil
}

// connect dials the server of a job, says when it is ready by a clock, and returns when the word to start has come.
func connect(j job, now func() int64, chainSync chainsync.Config, blockFetch blockfetch.Config) (*ouroboros.Connection, *bufio.Reader, error) {
	network, place := "unix", j.socket
	if j.nodeToNode() {
		network, place = "tcp", j.address
	}
	began := now()
	connection, err := ouroboros.NewConnection(
		ouroboros.WithNetworkMagic(j.magic),
		ouroboros.WithNodeToNode(j.nodeToNode()),
		ouroboros.WithKeepAlive(j.nodeToNode()),
		ouroboros.WithLogger(slog.New(slog.DiscardHandler)),
		ouroboros.WithChainSyncConfig(chainSync),
		ouroboros.WithBlockFetchConfig(blockFetch),
	)
	if err != nil {
		return nil, nil, err
	}
	if err := connection.Dial(network, place); err != nil {
		return nil, nil, fmt.Errorf("%s, magic %d: %w", place, j.magic, err)
	}
	at := now()
	number, _ := connection.ProtocolVersion()
	say(map[string]any{"event": "ready", "at_ns": at, "connect_ns": at - began, "version": number})
	stdin := bufio.NewReader(os.Stdin)
	if _, err := stdin.ReadString('\n'); err != nil {
		return nil, nil, fmt.Errorf("standard input ended before the word to start: %w", err)
	}
	return connection, stdin, nil
}

// begin finds the intersection and begins to follow, in one call; its result has what went wrong.
func begin(connection *ouroboros.Connection, start pcommon.Point) <-chan error {
	refused := make(chan error, 1)
	go func() {
		if err := connection.ChainSync().Client.Sync([]pcommon.Point{start}); err != nil {
			refused <- fmt.Errorf("following from slot %d: %w", start.Slot, err)
		}
	}()
	return refused
}

// lost is the reason why a connection ended: nil where the library closed the channel of its errors since it is gone.
func lost(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return errors.New("the server closed the connection")
	}
	return err
}

// silence is how long no block may come before the stream counts as ended: the library tells nobody of an AwaitReply,
// and a node-to-client connection has no time limits of its own.
const silence = 30 * time.Second

// follow returns when the last block is done with, or with the first thing that went wrong.
func follow(follower *follower, connection *ouroboros.Connection) error {
	follower.records.started()
	refused := begin(connection, follower.job.start)
	watch := time.NewTicker(silence)
	defer watch.Stop()
	var before uint64
	for {
		select {
		case <-follower.finished:
			return nil
		case err := <-refused:
			return err
		case err := <-connection.ErrorChan():
			return fmt.Errorf("after %d blocks: %w", follower.received.Load(), lost(err))
		case <-watch.C:
			now := follower.received.Load()
			if now == before {
				return fmt.Errorf("the chain ended after %d blocks: nothing came for %v", now, silence)
			}
			before = now
		}
	}
}

func say(record map[string]any) {
	line, err := json.Marshal(record)
	if err != nil {
		panic(err) // maps of strings and numbers always have a JSON form
	}
	_, _ = os.Stdout.Write(append(line, '\n'))
}
