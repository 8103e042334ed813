package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"sync"

	ouroboros "github.com/blinklabs-io/gouroboros"
	"github.com/blinklabs-io/gouroboros/cbor"
	"github.com/blinklabs-io/gouroboros/ledger"
	"github.com/blinklabs-io/gouroboros/protocol/blockfetch"
	"github.com/blinklabs-io/gouroboros/protocol/chainsync"
	pcommon "github.com/blinklabs-io/gouroboros/protocol/common"
	"github.com/blinklabs-io/gouroboros/protocol/txsubmission"
)

// block is a block without the [era, …] around it, which the library adds itself.
type block struct {
	era    uint
	inner  []byte
	point  pcommon.Point
	number uint64
}

// chain is what all followers are served.
type chain struct {
	mutex   sync.Mutex
	blocks  []block
	changed chan struct{} // closed when there are other blocks
}

// serve prints a line when it listens, and serves the blocks of the first file; from a line of standard input on, those of the second one.
func serve(magic uint32, listen string, files []string) error {
	if len(files) != 2 {
		return fmt.Errorf("%d files: expected two, each with a block in hex on every line", len(files))
	}
	first, err := readBlocks(files[0])
	if err != nil {
		return err
	}
	second, err := readBlocks(files[1])
	if err != nil {
		return err
	}
	served := &chain{blocks: first, changed: make(chan struct{})}
	listener, err := announce(listen)
	if err != nil {
		return err
	}
	go func() { _ = accept(listener, func(socket net.Conn) error { return served.serve(magic, socket) }) }()
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		served.mutex.Lock()
		served.blocks = second
		close(served.changed)
		served.changed = make(chan struct{})
		served.mutex.Unlock()
	}
	return lines.Err()
}

func readBlocks(path string) ([]block, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var blocks []block
	for line := range bytes.Lines(content) {
		whole, err := hex.DecodeString(string(bytes.TrimSpace(line)))
		if err != nil {
			return nil, fmt.Errorf("%s: block %d: %w", path, len(blocks), err)
		}
		var parts struct {
			cbor.StructAsArray
			Era   uint
			Inner cbor.RawMessage
		}
		if _, err := cbor.Decode(whole, &parts); err != nil {
			return nil, fmt.Errorf("%s: block %d: %w", path, len(blocks), err)
		}
		decoded, err := ledger.NewBlockFromCbor(parts.Era, parts.Inner)
		if err != nil {
			return nil, fmt.Errorf("%s: block %d: %w", path, len(blocks), err)
		}
		point := pcommon.NewPoint(decoded.SlotNumber(), decoded.Hash().Bytes())
		blocks = append(blocks, block{era: parts.Era, inner: parts.Inner, point: point, number: decoded.BlockNumber()})
	}
	return blocks, nil
}

// serve sees to one connection until it ends.
func (c *chain) serve(magic uint32, socket net.Conn) error {
	follower := &follower{chain: c}
	fetching, err := blockfetch.NewConfig(blockfetch.WithRequestRangeFunc(c.sendRange))
	if err != nil {
		return err
	}
	return converse(magic, socket,
		ouroboros.WithChainSyncConfig(chainsync.NewConfig(
			chainsync.WithFindIntersectFunc(follower.intersect),
			chainsync.WithRequestNextFunc(follower.next),
		)),
		ouroboros.WithBlockFetchConfig(fetching),
		// The node offers transactions; none are asked for.
		ouroboros.WithTxSubmissionConfig(txsubmission.NewConfig(
			txsubmission.WithInitFunc(func(txsubmission.CallbackContext) error { return nil }),
		)),
	)
}

func (c *chain) sendRange(context blockfetch.CallbackContext, from, to pcommon.Point) error {
	c.mutex.Lock()
	first, last := place(c.blocks, from), place(c.blocks, to)
	var asked []block
	if first >= 0 && last >= first {
		asked = c.blocks[first : last+1]
	}
	c.mutex.Unlock()
	go func() {
		if err := send(context.Server, asked); err != nil {
			fmt.Fprintf(os.Stderr, "blocks from slot %d: %v\n", from.Slot, err)
		}
	}()
	return nil
}

func send(server *blockfetch.Server, asked []block) error {
	if len(asked) == 0 {
		return server.NoBlocks()
	}
	if err := server.StartBatch(); err != nil {
		return err
	}
	for _, one := range asked {
		if err := server.Block(one.era, one.inner); err != nil {
			return err
		}
	}
	return server.BatchDone()
}

// place is where a point's block is; -1 where it isn't there.
func place(blocks []block, point pcommon.Point) int {
	for i := range blocks {
		if same(blocks[i].point, point) {
			return i
		}
	}
	return -1
}

func same(one, other pcommon.Point) bool {
	return one.Slot == other.Slot && bytes.Equal(one.Hash, other.Hash)
}

func tip(blocks []block) pcommon.Tip {
	last := blocks[len(blocks)-1]
	return pcommon.Tip{Point: last.point, BlockNumber: last.number}
}

// follower is how far one who follows the chain has come.
type follower struct {
	chain *chain
	has   []block // what was sent and not rolled back
	turn  bool    // whether a roll-backward to the end of that is due
}

func (f *follower) intersect(_ chainsync.CallbackContext, points []pcommon.Point) (pcommon.Point, pcommon.Tip, error) {
	f.chain.mutex.Lock()
	defer f.chain.mutex.Unlock()
	blocks := f.chain.blocks
	for _, point := range points {
		at := place(blocks, point)
		if at >= 0 || len(point.Hash) == 0 {
			f.has, f.turn = blocks[:at+1], true
			return point, tip(blocks), nil
		}
	}
	return pcommon.Point{}, tip(blocks), chainsync.ErrIntersectNotFound
}

func (f *follower) next(context chainsync.CallbackContext) error {
	sent, changed, err := f.step(context.Server)
	if sent || err != nil {
		return err
	}
	if err := context.Server.AwaitReply(); err != nil {
		return err
	}
	go func() {
		<-changed
		if _, _, err := f.step(context.Server); err != nil {
			fmt.Fprintf(os.Stderr, "behind the tip: %v\n", err)
		}
	}()
	return nil
}

// step sends what comes next; nothing at the tip, and then it gives what is closed when there is more.
func (f *follower) step(server *chainsync.Server) (bool, chan struct{}, error) {
	f.chain.mutex.Lock()
	blocks, changed := f.chain.blocks, f.chain.changed
	f.chain.mutex.Unlock()
	common := 0
	for common < min(len(f.has), len(blocks)) && same(f.has[common].point, blocks[common].point) {
		common++
	}
	if f.turn || common < len(f.has) {
		f.has, f.turn = blocks[:common], false
		to := pcommon.NewPointOrigin()
		if common > 0 {
			to = blocks[common-1].point
		}
		return true, nil, server.RollBackward(to, tip(blocks))
	}
	if common == len(blocks) {
		return false, changed, nil
	}
	f.has = blocks[:common+1]
	return true, nil, server.RollForward(blocks[common].era, blocks[common].inner, tip(blocks))
}
