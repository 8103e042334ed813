#!/bin/sh
# Makes what the databases of all hosts begin with: the ledger and the headers at the end of the last whole epoch of the past.
# Arguments: Python, the past, the folder of genesis files, the new folder, the network.
set -eu
python=$1 past=$2 genesis=$3 prepared=$4 network=$5
amaru=$(dirname "$0")/../../.build/amaru/bin/amaru

mkdir "$prepared"
"$python" -m slotmark chain snapshot "$past/immutable" --genesis "$genesis/genesis.shelley.json" --ended -o "$prepared/snapshots"
"$amaru" import-ledger-state --network "$network" --ledger-dir "$prepared/ledger" --snapshot-dir "$prepared/snapshots"
for header in "$prepared"/snapshots/headers/*.cbor; do
  "$amaru" import-headers --network "$network" --chain-dir "$prepared/chain" --header-file "$header"
done
"$amaru" import-nonces --network "$network" --chain-dir "$prepared/chain" --nonces-file "$prepared/snapshots/nonces.json"
