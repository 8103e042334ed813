#!/usr/bin/env bash
# Two live clusters of five real nodes over an emulated network, one with a delay planted in its nodes: their runs, the comparison. See README.md.
#   run.sh [SECONDS [OUT [NETWORK]]]
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
slotmark=${SLOTMARK:-$root/.venv/bin/slotmark}
seconds=${1:-60}
out=${2:-$root/.build/demo-cluster}
network=${3:-wan}
if [ $# -lt 2 ]; then rm -rf "$out"; fi # a folder that was named is never deleted
mkdir -p "$out/runs"

"$slotmark" cluster create value-only-5 -o "$out/bed"
"$slotmark" cluster run "$out/bed" --for "${seconds}s" --network "$network" --node slotmark -o "$out/runs/usual"
"$slotmark" cluster run "$out/bed" --for "${seconds}s" --network "$network" --node "slotmark --delay adopt=40ms" -o "$out/runs/delayed"
"$slotmark" compare "$out/runs/usual" "$out/runs/delayed" -o "$out/report"
echo "The report: $out/report/report.html and report.pdf"
