package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	ouroboros "github.com/blinklabs-io/gouroboros"
	"github.com/blinklabs-io/gouroboros/ledger"
	"github.com/blinklabs-io/gouroboros/ledger/allegra"
	"github.com/blinklabs-io/gouroboros/ledger/alonzo"
	"github.com/blinklabs-io/gouroboros/ledger/babbage"
	"github.com/blinklabs-io/gouroboros/ledger/common"
	"github.com/blinklabs-io/gouroboros/ledger/conway"
	"github.com/blinklabs-io/gouroboros/ledger/mary"
	"github.com/blinklabs-io/gouroboros/ledger/shelley"
	"github.com/blinklabs-io/gouroboros/protocol/txsubmission"
)

const idsAtOnce = 10

// unspent is what transactions are held against: the outputs of the genesis, and of those that were taken.
type unspent struct {
	common.LedgerState // a rule that asks for anything else ends the program
	mutex              sync.Mutex
	outputs            map[string]common.Utxo
	parameters         common.ProtocolParameters
}

func (u *unspent) NetworkId() uint { return common.AddressNetworkTestnet }

// CommitteeMembers are none: the load votes for nothing.
func (u *unspent) CommitteeMembers() ([]common.CommitteeMember, error) { return nil, nil }

func (u *unspent) UtxoById(input common.TransactionInput) (common.Utxo, error) {
	output, known := u.outputs[input.String()]
	if !known {
		return output, fmt.Errorf("%s isn't there, or is spent", input.String())
	}
	return output, nil
}

// verify holds a transaction against all rules of the ledger, and applies one that meets them.
func (u *unspent) verify(transaction ledger.Transaction) error {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if err := common.VerifyTransaction(transaction, 0, u, u.parameters, conway.UtxoValidationRules); err != nil {
		return err
	}
	for _, input := range transaction.Consumed() {
		delete(u.outputs, input.String())
	}
	for _, output := range transaction.Produced() {
		u.outputs[output.Id.String()] = output
	}
	return nil
}

// readGenesis reads the funds and the parameters from a bed's folder of genesis files.
func readGenesis(folder string) (*unspent, error) {
	file := func(era string) string { return filepath.Join(folder, "genesis."+era+".json") }
	ofShelley, err := shelley.NewShelleyGenesisFromFile(file("shelley"))
	if err != nil {
		return nil, err
	}
	ofAlonzo, err := alonzo.NewAlonzoGenesisFromFile(file("alonzo"))
	if err != nil {
		return nil, err
	}
	ofConway, err := conway.NewConwayGenesisFromFile(file("conway"))
	if err != nil {
		return nil, err
	}
	var first shelley.ShelleyProtocolParameters
	if err := first.UpdateFromGenesis(&ofShelley); err != nil {
		return nil, err
	}
	scripts := alonzo.UpgradePParams(mary.UpgradePParams(allegra.UpgradePParams(first)))
	if err := scripts.UpdateFromGenesis(&ofAlonzo); err != nil {
		return nil, err
	}
	parameters := conway.UpgradePParams(babbage.UpgradePParams(scripts))
	if err := parameters.UpdateFromGenesis(&ofConway); err != nil {
		return nil, err
	}
	funds, err := ofShelley.GenesisUtxos()
	if err != nil {
		return nil, err
	}
	state := &unspent{outputs: map[string]common.Utxo{}, parameters: &parameters}
	for _, fund := range funds {
		state.outputs[fund.Id.String()] = fund
	}
	return state, nil
}

// verdict is a line for each transaction that was taken.
type verdict struct {
	Id    string `json:"id"`
	Error string `json:"error"`
}

// take prints a line when it listens, and then one for each transaction that it asks its peers for. After the given number of a
// connection's, it asks for no more and leaves the connection open, as Dingo does after one that it can't take.
func take(magic uint32, listen, genesis string, most uint64) error {
	state, err := readGenesis(genesis)
	if err != nil {
		return err
	}
	listener, err := announce(listen)
	if err != nil {
		return err
	}
	return accept(listener, func(socket net.Conn) error { return takeFrom(state, magic, socket, most) })
}

func takeFrom(state *unspent, magic uint32, socket net.Conn, most uint64) error {
	begin := func(context txsubmission.CallbackContext) error {
		go func() {
			if err := askForAll(state, context.Server, most); err != nil {
				fmt.Fprintf(os.Stderr, "%v: %v\n", socket.RemoteAddr(), err)
			}
		}()
		return nil
	}
	return converse(magic, socket, ouroboros.WithTxSubmissionConfig(txsubmission.NewConfig(txsubmission.WithInitFunc(begin))))
}

func askForAll(state *unspent, server *txsubmission.Server, most uint64) error {
	for taken := uint64(0); taken < most; {
		offered, err := server.RequestTxIds(true, idsAtOnce)
		if err != nil {
			return err
		}
		var ids []txsubmission.TxId
		for _, one := range offered {
			ids = append(ids, one.TxId)
		}
		bodies, err := server.RequestTxs(ids)
		if err != nil {
			return err
		}
		for _, body := range bodies {
			transaction, err := ledger.NewTransactionFromCbor(uint(body.EraId), body.TxBody)
			if err != nil {
				return err
			}
			said := verdict{Id: transaction.Hash().String()}
			if err := state.verify(transaction); err != nil {
				said.Error = err.Error()
			}
			if err := json.NewEncoder(os.Stdout).Encode(said); err != nil {
				return err
			}
			taken++
		}
	}
	return nil
}
