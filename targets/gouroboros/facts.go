package main

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/blinklabs-io/gouroboros/ledger"
)

// raw folds a block's length and CRC. The library hands out the inner block; both are of the whole [era, block].
func (r *records) raw(era uint, block []byte) {
	prefix := [2]byte{0x82, byte(era)}
	crc := crc32.Update(crc32.ChecksumIEEE(prefix[:]), crc32.IEEETable, block)
	var record [8]byte
	binary.BigEndian.PutUint32(record[:4], uint32(len(block)+len(prefix)))
	binary.BigEndian.PutUint32(record[4:], crc)
	r.digest.Write(record[:])
	r.block(len(block) + len(prefix))
}

// sums are what a block's transactions add up to.
type sums struct {
	transactions, inputs, outputs int
	fees                          uint64
}

func (s *sums) add(inputs, outputs int, fee uint64) {
	s.transactions++
	s.inputs += inputs
	s.outputs += outputs
	s.fees += fee
}

// sum reads the decoded bodies in their place: Transactions() copies each transaction, and Inputs() each input.
func sum(block ledger.Block) (s sums) {
	switch block := block.(type) {
	case *ledger.ShelleyBlock:
		for i := range block.TransactionBodies {
			body := &block.TransactionBodies[i]
			s.add(len(body.TxInputs.Items()), len(body.TxOutputs), body.TxFee)
		}
	case *ledger.AllegraBlock:
		for i := range block.TransactionBodies {
			body := &block.TransactionBodies[i]
			s.add(len(body.TxInputs.Items()), len(body.TxOutputs), body.TxFee)
		}
	case *ledger.MaryBlock:
		for i := range block.TransactionBodies {
			body := &block.TransactionBodies[i]
			s.add(len(body.TxInputs.Items()), len(body.TxOutputs), body.TxFee)
		}
	case *ledger.AlonzoBlock:
		for i := range block.TransactionBodies {
			body := &block.TransactionBodies[i]
			s.add(len(body.TxInputs.Items()), len(body.TxOutputs), body.TxFee)
		}
	case *ledger.BabbageBlock:
		for i := range block.TransactionBodies {
			body := &block.TransactionBodies[i]
			s.add(len(body.TxInputs.Items()), len(body.TxOutputs), body.TxFee)
		}
	case *ledger.ConwayBlock:
		for i := range block.TransactionBodies {
			body := &block.TransactionBodies[i]
			s.add(len(body.TxInputs.Items()), len(body.TxOutputs), body.TxFee)
		}
	default: // Byron, whose fees are implicit; nothing in an epoch boundary block
		for _, transaction := range block.Transactions() {
			var fee uint64
			if given := transaction.Fee(); given != nil {
				fee = given.Uint64()
			}
			s.add(len(transaction.Inputs()), len(transaction.Outputs()), fee)
		}
	}
	return s
}

func (r *records) decoded(block ledger.Block) {
	facts := sum(block)
	hash := block.Hash()
	var record [60]byte
	binary.BigEndian.PutUint64(record[:8], block.SlotNumber())
	copy(record[8:40], hash[:])
	binary.BigEndian.PutUint32(record[40:44], uint32(facts.transactions))
	binary.BigEndian.PutUint32(record[44:48], uint32(facts.inputs))
	binary.BigEndian.PutUint32(record[48:52], uint32(facts.outputs))
	binary.BigEndian.PutUint64(record[52:], facts.fees)
	r.digest.Write(record[:])
	r.last(block.SlotNumber(), hash)
	r.block(len(block.Cbor()) + 2)
}

func (r *records) header(header ledger.BlockHeader) {
	hash := header.Hash()
	var record [40]byte
	binary.BigEndian.PutUint64(record[:8], header.SlotNumber())
	copy(record[8:], hash[:])
	r.digest.Write(record[:])
	r.last(header.SlotNumber(), hash)
	r.block(len(header.Cbor()))
}
