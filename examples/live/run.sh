#!/usr/bin/env bash
# A live cluster of five real nodes over an emulated network, in which half of the nodes have a planted delay: its rounds, the comparison. See README.md.
#   run.sh [SECONDS [OUT [NETWORK]]]
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
slotmark=${SLOTMARK:-$root/.venv/bin/slotmark}
seconds=${1:-60}
out=${2:-$root/.build/demo-cluster}
network=${3:-wan}
if [ $# -lt 2 ]; then rm -rf "$out"; fi # a folder that was named is never deleted
mkdir -p "$out"

"$slotmark" cluster create value-only-5 -o "$out/bed"
"$slotmark" cluster run "$out/bed" --for "${seconds}s" --network "$network" --mixed --rounds 4 \
  --node usual=slotmark --node delayed="slotmark --delay adopt=40ms" -o "$out/runs"
"$slotmark" compare "$out/runs/mixed-1,$out/runs/mixed-2,$out/runs/mixed-3,$out/runs/mixed-4" -o "$out/report"
echo "The report: $out/report/report.html and report.pdf"
