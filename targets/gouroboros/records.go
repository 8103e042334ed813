package main

import (
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"hash"
)

// records are those of one run, held back until it is over.
type records struct {
	every, blocks, bytes uint64
	digest               hash.Hash
	slot                 uint64
	hash                 []byte
	endedNs              int64
	held                 []map[string]any
}

func newRecords(every uint64) *records {
	return &records{every: every, digest: sha256.New(), held: make([]map[string]any, 0, 64)}
}

func (r *records) started() {
	r.held = append(r.held, map[string]any{"event": "started", "at_ns": nowNs()})
}

func (r *records) last(slot uint64, hash []byte) { r.slot, r.hash = slot, hash }

func (r *records) block(bytes int) {
	if r.blocks == 0 {
		r.held = append(r.held, map[string]any{"event": "first", "at_ns": nowNs()})
	}
	r.blocks++
	r.bytes += uint64(bytes)
	if r.blocks%r.every == 0 {
		r.held = append(r.held, map[string]any{"event": "progress", "blocks": r.blocks, "bytes": r.bytes, "at_ns": nowNs(), "digest": r.hex()})
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
	done := map[string]any{"event": "done", "blocks": r.blocks, "bytes": r.bytes, "at_ns": r.endedNs, "slot": nil, "hash": nil, "digest": r.hex()}
	if r.hash != nil {
		done["slot"], done["hash"] = r.slot, hex.EncodeToString(r.hash)
	}
	for _, record := range append(r.held, done) {
		say(record)
	}
}
