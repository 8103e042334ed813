#!/usr/bin/env bash
# `make demo-chainsync`: real clients over a chain, the comparison, the report.
set -euo pipefail
cd "$(dirname "$0")"
slotmark=.venv/bin/slotmark
out=.build/demo-chainsync
rm -rf "$out"
mkdir -p "$out"

if [ -n "${SLOTMARK_PREVIEW_CHAIN:-}" ]; then
  chain=$SLOTMARK_PREVIEW_CHAIN blocks=10000
else
  echo "The real chain is not here: forging one like it."
  chain=$out/chain blocks=4000
  "$slotmark" chain synth --workload preview-like --blocks 8000 -o "$chain"
fi
"$slotmark" chain info "$chain"

targets=native
for name in gouroboros pallas; do
  if "$slotmark" chainsync targets --build "$name" >/dev/null; then targets=$name,$targets; fi
done
"$slotmark" chainsync run --chain "$chain" --target "$targets" --mode decode --depth 1,100 --rounds 7 --blocks "$blocks" -o "$out/runs"
# shellcheck disable=SC2086
"$slotmark" compare $(printf '%s' "$targets" | tr ',' '\n' | sed "s|^|$out/runs/|") -o "$out/report"
echo "The report: $PWD/$out/report/report.html"
