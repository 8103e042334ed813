package main

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

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
	received   uint64
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
	if f.received > 0 && !f.over {
		return fmt.Errorf("a roll-backward to slot %d after %d blocks", to.Slot, f.received)
	}
	return nil
}

// raw gets the inner block, without [era, …] around it: the record is of the whole, so its two bytes go first.
func (f *follower) raw(_ chainsync.CallbackContext, era uint, block []byte, _ chainsync.Tip) error {
	if f.over {
		return nil
	}
	f.received++
	f.records.raw(era, block)
	return f.done(f.received)
}

func (f *follower) decoded(_ chainsync.CallbackContext, _ uint, content any, _ chainsync.Tip) error {
	if f.over {
		return nil
	}
	f.received++
	switch item := content.(type) {
	case ledger.Block:
		f.records.decoded(item)
		return f.done(f.received)
	case ledger.BlockHeader:
		if f.job.mode == "headers" {
			f.records.header(item)
			return f.done(f.received)
		}
		return f.fetch(item)
	default:
		return fmt.Errorf("neither a block nor a header: %T", content)
	}
}

// fetch gathers headers into a range, and fetches it when it is whole.
func (f *follower) fetch(header ledger.BlockHeader) error {
	f.records.last(header.SlotNumber(), header.Hash().Bytes())
	f.batch = append(f.batch, pcommon.NewPoint(header.SlotNumber(), header.Hash().Bytes()))
	if uint64(len(f.batch)) < f.job.depth && f.received < f.job.blocks {
		return nil
	}
	if err := f.connection.BlockFetch().Client.GetBlockRange(f.batch[0], f.batch[len(f.batch)-1]); err != nil {
		return err
	}
	<-f.fetched
	f.batch = f.batch[:0]
	return f.done(f.received)
}

func (f *follower) body(_ blockfetch.CallbackContext, era uint, block []byte) error {
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

func (r *records) raw(era uint, block []byte) {
	prefix := [2]byte{0x82, byte(era)}
	crc := crc32.Update(crc32.ChecksumIEEE(prefix[:]), crc32.IEEETable, block)
	var record [8]byte
	binary.BigEndian.PutUint32(record[:4], uint32(len(block)+len(prefix)))
	binary.BigEndian.PutUint32(record[4:], crc)
	r.digest.Write(record[:])
	r.block(len(block) + len(prefix))
}

func (r *records) decoded(block ledger.Block) {
	var inputs, outputs uint32
	var fees uint64
	transactions := block.Transactions()
	for _, transaction := range transactions {
		inputs += uint32(len(transaction.Inputs()))
		outputs += uint32(len(transaction.Outputs()))
		if fee := transaction.Fee(); fee != nil {
			fees += fee.Uint64()
		}
	}
	hash := block.Hash().Bytes()
	var record [60]byte
	binary.BigEndian.PutUint64(record[:8], block.SlotNumber())
	copy(record[8:40], hash)
	binary.BigEndian.PutUint32(record[40:44], uint32(len(transactions)))
	binary.BigEndian.PutUint32(record[44:48], inputs)
	binary.BigEndian.PutUint32(record[48:52], outputs)
	binary.BigEndian.PutUint64(record[52:], fees)
	r.digest.Write(record[:])
	r.last(block.SlotNumber(), hash)
	r.block(len(block.Cbor()) + 2)
}

func (r *records) header(header ledger.BlockHeader) {
	hash := header.Hash().Bytes()
	var record [40]byte
	binary.BigEndian.PutUint64(record[:8], header.SlotNumber())
	copy(record[8:], hash)
	r.digest.Write(record[:])
	r.last(header.SlotNumber(), hash)
	r.block(len(header.Cbor()))
}
