#!/usr/bin/env bash
# Chain-sync clients over one chain: their runs, the comparison, the report. See README.md.
#   run.sh [BLOCKS [OUT]]
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
slotmark=${SLOTMARK:-$root/.venv/bin/slotmark}
out=${2:-$root/.build/demo-chainsync}
if [ $# -lt 2 ]; then rm -rf "$out"; fi # a folder that was named is never deleted
mkdir -p "$out"

if [ -n "${SLOTMARK_PREVIEW_CHAIN:-}" ]; then
  chain=$SLOTMARK_PREVIEW_CHAIN blocks=${1:-10000}
else
  echo "The real chain is not here: forging one like it."
  chain=$out/chain blocks=${1:-4000}
  "$slotmark" chain synth --workload preview-like --blocks $((2 * blocks)) -o "$chain"
fi
"$slotmark" chain info "$chain"

targets=native
for name in gouroboros pallas; do
  if "$slotmark" chainsync targets --build "$name" >/dev/null; then targets=$name,$targets; fi
done
"$slotmark" chainsync run --chain "$chain" --target "$targets" --mode decode --depth 1,100 --rounds 7 --blocks "$blocks" -o "$out/runs"
# shellcheck disable=SC2086
"$slotmark" compare $(printf '%s' "$targets" | tr ',' '\n' | sed "s|^|$out/runs/|") -o "$out/report"
echo "The report: $out/report/report.html"
