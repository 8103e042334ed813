#!/usr/bin/env bash
# Simulates runs of a made-up version of versions.txt: simulate.sh VERSION DAY SEED RUNS OUT. One run is OUT itself; several are in it, of seeds from SEED on.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
read -r -a settings <<<"$(awk -v version="$1" '$1 == version { $1 = ""; print }' "$here/versions.txt")"
asked=(--direct --slots 120 --set network.hosts=4 --set network.pools=4 --set "system_start=$2" --seed "$3" -o "$5")
asked+=(--set "ident=$1" --set "target.components.cardano-node.version=$1")
if [ "$4" -gt 1 ]; then asked+=(--repeat "$4"); fi
for setting in "${settings[@]}"; do asked+=(--set "$setting"); done
exec "${SLOTMARK:-$here/../../.venv/bin/slotmark}" simulate value-only-5 "${asked[@]}"
