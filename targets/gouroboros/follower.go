package main

import (
	"fmt"
	"sync/atomic"

	ouroboros "github.com/blinklabs-io/gouroboros"
	"github.com/blinklabs-io/gouroboros/ledger"
	"github.com/blinklabs-io/gouroboros/protocol/blockfetch"
	"github.com/blinklabs-io/gouroboros/protocol/chainsync"
	pcommon "github.com/blinklabs-io/gouroboros/protocol/common"
)

// follower is what the library calls back.
type follower struct {
	job        job
	records    *records
	connection *ouroboros.Connection
	finished   chan struct{}
	over       bool
	rolledBack bool
	received   atomic.Uint64 // blocks or headers; another goroutine watches it
	batch      []pcommon.Point
	fetched    chan struct{}
}

func newFollower(j job) *follower {
	return &follower{job: j, records: newRecords(j.every), finished: make(chan struct{}), fetched: make(chan struct{}, 1)}
}

func (f *follower) chainSync() chainsync.Config {
	depth := int(f.job.depth)
	if f.job.mode == "fetch" {
		depth = 1 // the headers of a range, one after the other; the range is what is long
	}
	options := []chainsync.ChainSyncOptionFunc{
		chainsync.WithRollBackwardFunc(f.rollBackward),
		chainsync.WithPipelineLimit(depth),
	}
	if f.job.mode == "raw" {
		options = append(options, chainsync.WithRollForwardRawFunc(f.raw))
	} else {
		options = append(options, chainsync.WithRollForwardFunc(f.decoded))
	}
	return chainsync.NewConfig(options...)
}

func (f *follower) blockFetch() (blockfetch.Config, error) {
	return blockfetch.NewConfig(
		blockfetch.WithBlockRawFunc(f.body),
		blockfetch.WithBatchDoneFunc(func(blockfetch.CallbackContext) error {
			f.fetched <- struct{}{}
			return nil
		}),
	)
}

func (f *follower) rollBackward(_ chainsync.CallbackContext, to pcommon.Point, _ chainsync.Tip) error {
	if received := f.received.Load(); (f.rolledBack || received > 0) && !f.over {
		return fmt.Errorf("a roll-backward to slot %d after %d blocks", to.Slot, received)
	}
	f.rolledBack = true
	return nil
}

// raw gets the inner block, without [era, …] around it: the record is of the whole, so its two bytes go first.
func (f *follower) raw(_ chainsync.CallbackContext, era uint, block []byte, _ chainsync.Tip) error {
	if f.over {
		return nil
	}
	f.records.received()
	f.records.raw(era, block)
	return f.done(f.received.Add(1))
}

func (f *follower) decoded(_ chainsync.CallbackContext, _ uint, content any, _ chainsync.Tip) error {
	if f.over {
		return nil
	}
	switch item := content.(type) {
	case ledger.Block:
		f.records.received()
		f.records.decoded(item)
		return f.done(f.received.Add(1))
	case ledger.BlockHeader:
		if f.job.mode == "fetch" {
			return f.fetch(item, f.received.Add(1))
		}
		f.records.received()
		f.records.header(item)
		return f.done(f.received.Add(1))
	default:
		return fmt.Errorf("neither a block nor a header: %T", content)
	}
}

// fetch gathers headers into a range, and fetches it when it is whole.
func (f *follower) fetch(header ledger.BlockHeader, received uint64) error {
	point := pcommon.NewPoint(header.SlotNumber(), header.Hash().Bytes())
	f.records.last(point.Slot, header.Hash())
	f.batch = append(f.batch, point)
	if uint64(len(f.batch)) < f.job.depth && received < f.job.blocks {
		return nil
	}
	if err := f.connection.BlockFetch().Client.GetBlockRange(f.batch[0], f.batch[len(f.batch)-1]); err != nil {
		return err
	}
	<-f.fetched
	if f.records.blocks != received {
		return fmt.Errorf("%d blocks were fetched for %d headers", f.records.blocks, received)
	}
	f.batch = f.batch[:0]
	return f.done(received)
}

func (f *follower) body(_ blockfetch.CallbackContext, era uint, block []byte) error {
	f.records.received()
	f.records.raw(era, block)
	return nil
}

func (f *follower) done(blocks uint64) error {
	if blocks == f.job.blocks {
		f.over = true
		f.records.ended()
		close(f.finished)
		return chainsync.ErrStopSyncProcess
	}
	return nil
}
