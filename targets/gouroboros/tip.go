package main

import (
	"encoding/hex"
	"fmt"
	"io"

	ouroboros "github.com/blinklabs-io/gouroboros"
	"github.com/blinklabs-io/gouroboros/ledger"
	"github.com/blinklabs-io/gouroboros/protocol/blockfetch"
	"github.com/blinklabs-io/gouroboros/protocol/chainsync"
	pcommon "github.com/blinklabs-io/gouroboros/protocol/common"
	"golang.org/x/sys/unix"
)

// atTip is what the library calls back at a node's tip: each block as it is announced, until standard input ends.
type atTip struct {
	job        job
	records    *records
	connection *ouroboros.Connection
	fetched    chan struct{}
	waiting    uint64 // blocks that were fetched and not taken note of
}

func followTip(j job) error {
	follower := &atTip{job: j, records: newRecords(1 << 62), fetched: make(chan struct{}, 1)}
	options := []chainsync.ChainSyncOptionFunc{
		chainsync.WithRollBackwardFunc(func(chainsync.CallbackContext, pcommon.Point, chainsync.Tip) error { return nil }),
		chainsync.WithPipelineLimit(1),
	}
	if j.mode == "raw" {
		options = append(options, chainsync.WithRollForwardRawFunc(follower.raw))
	} else {
		options = append(options, chainsync.WithRollForwardFunc(follower.decoded))
	}
	blockFetch, err := blockfetch.NewConfig(
		blockfetch.WithBlockRawFunc(func(_ blockfetch.CallbackContext, era uint, block []byte) error {
			follower.records.raw(era, block)
			follower.waiting++
			return nil
		}),
		blockfetch.WithBatchDoneFunc(func(blockfetch.CallbackContext) error {
			follower.fetched <- struct{}{}
			return nil
		}),
	)
	if err != nil {
		return err
	}
	connection, stdin, err := connect(j, monotonicNs, chainsync.NewConfig(options...), blockFetch)
	if err != nil {
		return err
	}
	follower.connection = connection
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		close(ended)
	}()
	refused := begin(connection, j.start)
	select {
	case <-ended:
		return nil
	case err := <-refused:
		return err
	case err := <-connection.ErrorChan():
		return lost(err)
	}
}

func (f *atTip) raw(_ chainsync.CallbackContext, era uint, block []byte, _ chainsync.Tip) error {
	f.records.raw(era, block)
	f.done()
	return nil
}

func (f *atTip) decoded(_ chainsync.CallbackContext, _ uint, content any, _ chainsync.Tip) error {
	switch item := content.(type) {
	case ledger.Block:
		f.records.decoded(item)
	case ledger.BlockHeader:
		if f.job.mode != "fetch" {
			f.records.header(item)
			break
		}
		hash := item.Hash()
		point := pcommon.NewPoint(item.SlotNumber(), hash.Bytes())
		f.records.last(point.Slot, hash)
		if err := f.connection.BlockFetch().Client.GetBlockRange(point, point); err != nil {
			return err
		}
		<-f.fetched
		if f.waiting != 1 {
			return fmt.Errorf("%d blocks were fetched for one header", f.waiting)
		}
		f.waiting = 0
	default:
		return fmt.Errorf("neither a block nor a header: %T", content)
	}
	f.done()
	return nil
}

// done prints the record of the last block, with the time at which it was done with.
func (f *atTip) done() {
	record := map[string]any{"event": "block", "at_ns": monotonicNs(), "slot": nil, "hash": nil, "digest": f.records.hex()}
	if f.records.named {
		record["slot"], record["hash"] = f.records.slot, hex.EncodeToString(f.records.hash[:])
	}
	say(record)
}

// monotonicNs is the system's CLOCK_MONOTONIC, which is the same for all processes; the time package gives only differences of it.
func monotonicNs() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err) // every system that Go runs on here has it
	}
	return now.Nano()
}
