package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"

	ouroboros "github.com/blinklabs-io/gouroboros"
	"github.com/blinklabs-io/gouroboros/ledger"
	"github.com/blinklabs-io/gouroboros/ledger/common"
	"github.com/blinklabs-io/gouroboros/protocol/localstatequery"
)

// answers are a node's, by name, up to the first that is an error.
type answers struct {
	found map[string]any
	err   error
}

func put[T any](a *answers, name string, ask func() (T, error)) T {
	var answer T
	if a.err != nil {
		return answer
	}
	answer, err := ask()
	if err != nil {
		a.err = fmt.Errorf("%s: %w", name, err)
	}
	a.found[name] = answer
	return answer
}

// ask prints what a node answers on its tip, its parameters, stake, and what is unspent at an address, as one JSON object.
func ask(magic uint32, socket, address string) error {
	encoded, err := hex.DecodeString(address)
	if err != nil {
		return err
	}
	wanted, err := common.NewAddressFromBytes(encoded)
	if err != nil {
		return err
	}
	connection, err := ouroboros.NewConnection(
		ouroboros.WithNetworkMagic(magic),
		ouroboros.WithLogger(slog.New(slog.DiscardHandler)),
	)
	if err != nil {
		return err
	}
	if err := connection.Dial("unix", socket); err != nil {
		return err
	}
	client := connection.LocalStateQuery().Client
	if err := client.AcquireVolatileTip(); err != nil {
		return err
	}
	a := &answers{found: map[string]any{}}
	put(a, "era", client.GetCurrentEra)
	put(a, "start", client.GetSystemStart)
	put(a, "number", client.GetChainBlockNo)
	put(a, "point", client.GetChainPoint)
	put(a, "epoch", client.GetEpochNo)
	put(a, "history", client.GetEraHistory)
	put(a, "parameters", client.GetCurrentProtocolParams)
	put(a, "stake", func() (map[string]string, error) {
		stake, err := client.GetStakeDistribution()
		shares := map[string]string{}
		if err == nil {
			for id, pool := range stake.Results {
				shares[hex.EncodeToString(id[:])] = pool.StakeFraction.String()
			}
		}
		return shares, err
	})
	var inputs []ledger.TransactionInput
	put(a, "at address", func() (map[string]string, error) {
		unspent, err := client.GetUTxOByAddress([]ledger.Address{wanted})
		if err != nil {
			return nil, err
		}
		for id := range unspent.Results {
			inputs = append(inputs, ledger.NewShelleyTransactionInput(id.Hash.String(), id.Idx))
		}
		return amounts(unspent.Results), nil
	})
	put(a, "by input", func() (map[string]string, error) {
		unspent, err := client.GetUTxOByTxIn(inputs)
		if err != nil {
			return nil, err
		}
		return amounts(unspent.Results), nil
	})
	if a.err != nil {
		return a.err
	}
	if err := client.Release(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(a.found)
}

// amounts are the lovelace of outputs by their place, TRANSACTION#INDEX.
func amounts(unspent map[localstatequery.UtxoId]ledger.BabbageTransactionOutput) map[string]string {
	lovelace := map[string]string{}
	for id, output := range unspent {
		lovelace[fmt.Sprintf("%s#%d", id.Hash.String(), id.Idx)] = output.Amount().String()
	}
	return lovelace
}
