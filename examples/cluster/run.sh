#!/usr/bin/env bash
# Two node versions on a simulated cluster of 52 hosts: their logs, their runs, the comparison. See README.md.
#   run.sh [SLOTS [OUT]]
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
slotmark=${SLOTMARK:-$root/.venv/bin/slotmark}
slots=${1:-5000}
out=${2:-$root/.build/demo}
if [ $# -lt 2 ]; then rm -rf "$out"; fi # a folder that was named is never deleted
mkdir -p "$out"
# Short epochs: the profiles analyse from the third one on. Ten of them, of whatever length.
epoch=$((slots / 10))
for version in 10.5 10.6-pre; do
  "$slotmark" simulate "value-only-$version" --slots "$slots" --set genesis.epoch_slots="$epoch" -o "$out/logs/$version"
  "$slotmark" ingest "$out/logs/$version" -o "$out/runs/$version"
  rm -rf "$out/logs" # a gigabyte with 5,000 slots
done
"$slotmark" compare "$out/runs/10.5" "$out/runs/10.6-pre" -o "$out/report"
echo "The report: $out/report/report.html and report.pdf"
