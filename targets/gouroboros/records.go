package main

import (
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"hash"

	"github.com/blinklabs-io/gouroboros/ledger/common"
)

// records are those of one run, held back until it is over.
type records struct {
	every, blocks, bytes        uint64
	digest                      hash.Hash
	slot                        uint64
	hash                        common.Blake2b256
	named                       bool // slot and hash are known
	startedNs, firstNs, endedNs int64
	progress                    []map[string]any
}

func newRecords(every uint64) *records {
	return &records{every: every, digest: sha256.New(), progress: make([]map[string]any, 0, 64)}
}

func (r *records) started() { r.startedNs = nowNs() }

// received says that a block has come, and nothing was done to it yet but what the library does before it calls back.
func (r *records) received() {
	if r.blocks == 0 {
		r.firstNs = nowNs()
	}
}

func (r *records) last(slot uint64, hash common.Blake2b256) {
	r.slot, r.hash, r.named = slot, hash, true
}

// block says that a block of so many bytes is done with.
func (r *records) block(bytes int) {
	r.blocks++
	r.bytes += uint64(bytes)
	if r.blocks%r.every == 0 {
		r.progress = append(r.progress, map[string]any{"event": "progress", "blocks": r.blocks, "bytes": r.bytes, "at_ns": nowNs(), "digest": r.hex()})
	}
}

func (r *records) ended() { r.endedNs = nowNs() }

// hex is the digest so far.
func (r *records) hex() string {
	state, err := r.digest.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		panic(err) // SHA-256 can always be written down
	}
	twin := sha256.New()
	if err := twin.(encoding.BinaryUnmarshaler).UnmarshalBinary(state); err != nil {
		panic(err)
	}
	return hex.EncodeToString(twin.Sum(nil))
}

func (r *records) finish() {
	say(map[string]any{"event": "started", "at_ns": r.startedNs})
	say(map[string]any{"event": "first", "at_ns": r.firstNs})
	for _, record := range r.progress {
		say(record)
	}
	done := map[string]any{"event": "done", "blocks": r.blocks, "bytes": r.bytes, "at_ns": r.endedNs, "slot": nil, "hash": nil, "digest": r.hex()}
	if r.named {
		done["slot"], done["hash"] = r.slot, hex.EncodeToString(r.hash[:])
	}
	say(done)
}
