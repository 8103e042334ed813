#!/usr/bin/env bash
# Two node versions on a simulated cluster of 52 hosts: their logs, their runs, the comparison. See README.md.
#   run.sh [SLOTS [OUT]]
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
slotmark=${SLOTMARK:-$root/.venv/bin/slotmark}
slots=${1:-1000}
out=${2:-$root/.build/demo}
if [ $# -lt 2 ]; then rm -rf "$out"; fi # a folder that was named is never deleted
mkdir -p "$out"
# Short epochs: the profiles analyse from the third one on. Ten of them, of whatever length.
simulate() { "$slotmark" simulate "$@" --slots "$slots" --set genesis.epoch_slots="$((slots / 10))"; }
for version in 10.2 10.5; do
  # The first run by way of its logs, as those of a real cluster come in; two more, of other seeds, are written as runs at once.
  simulate "value-only-$version" -o "$out/logs/$version"
  "$slotmark" ingest "$out/logs/$version" -o "$out/runs/$version/seed-1"
  rm -rf "$out/logs" # 370 MB with 1,000 slots
  simulate "value-only-$version" --seed 2 --repeat 2 --direct -o "$out/runs/$version"
done
"$slotmark" compare "$out/runs/10.2" "$out/runs/10.5" -o "$out/report"
echo "The report: $out/report/report.html and report.pdf"
