#!/usr/bin/env bash
# A release decided by two published reports of the benchmarking cluster, value transfers and scripts: one line, one report. See README.md.
#   run.sh [ARCHIVE [OUT]]
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
slotmark=${SLOTMARK:-$root/.venv/bin/slotmark}
archive=${1:-$root/../shared/published/releases}
out=${2:-$root/.build/demo-release}
if [ $# -lt 2 ]; then rm -rf "$out"; fi # a folder that was named is never deleted
mkdir -p "$out"
cp "$root/examples/release/release.toml" "$out"

for workload in value-only plutus; do
  for version in 10.5.4 10.6.2; do
    "$slotmark" published import "$archive/release-10.6.2.$workload.json" "$version" -o "$out/runs/${workload%-only}-$version"
  done
done
"$slotmark" release plan "$out/release.toml"
"$slotmark" release "$out/release.toml" -o "$out/report" || [ $? -eq 3 ] # the exit code of RUN AGAIN
echo "The report: $out/report/report.html"
