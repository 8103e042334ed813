#!/usr/bin/env bash
# One chain replayed over three stores of unspent outputs: their runs, the comparison, the report. See README.md.
#   run.sh [BLOCKS [OUT]]
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
slotmark=${SLOTMARK:-$root/.venv/bin/slotmark}
out=${2:-$root/.build/demo-ledger}
if [ $# -lt 2 ]; then rm -rf "$out"; fi # a folder that was named is never deleted
mkdir -p "$out"
blocks=${1:-120}

"$slotmark" chain synth --workload value-only --blocks "$blocks" --utxo 100000 -o "$out/chain"
"$slotmark" ledger run --chain "$out/chain" --genesis "$out/chain/genesis/shelley-genesis.json" --backend memory,lsm,lmdb --rounds 5 -o "$out/runs"
"$slotmark" compare "$out/runs/memory" "$out/runs/lsm" "$out/runs/lmdb" \
  --policy "$root/examples/ledger/stores.toml" -o "$out/report" || case $? in 1 | 3) ;; *) exit 1 ;; esac # under a policy, HOLD ends with 1 and RUN AGAIN with 3
echo "The report: $out/report/report.html"
