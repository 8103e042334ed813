#!/usr/bin/env bash
# `make demo`: two node versions on a simulated cluster of 52 hosts: their logs, the runs, the comparison.
set -euo pipefail
cd "$(dirname "$0")"
slotmark=.venv/bin/slotmark
out=.build/demo
rm -rf "$out"
mkdir -p "$out"
# Short epochs: the profiles analyse from the third one on, and 5,000 slots (83 minutes of a cluster) are enough to look at.
for version in 10.5 10.6-pre; do
  "$slotmark" simulate "value-only-$version" --slots 5000 --set genesis.epoch_slots=500 -o "$out/logs/$version"
  "$slotmark" ingest "$out/logs/$version" -o "$out/runs/$version"
  rm -rf "$out/logs" # a gigabyte
done
"$slotmark" compare "$out/runs/10.5" "$out/runs/10.6-pre" -o "$out/report"
echo "The report: $PWD/$out/report/report.html and report.pdf"
