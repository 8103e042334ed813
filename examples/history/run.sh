#!/usr/bin/env bash
# A made-up history of 200 runs: their store, what changed, the comment on a change, the version that made it slower, the site. See README.md.
#   run.sh [RUNS_PER_VERSION [OUT]]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
export SLOTMARK=${SLOTMARK:-$here/../../.venv/bin/slotmark}
runs=${1:-10}
out=${2:-$here/../../.build/demo-history}
if [ $# -lt 2 ]; then rm -rf "$out"; fi # a folder that was named is never deleted
mkdir -p "$out"
out=$(cd "$out" && pwd)
grep -v '^#' "$here/versions.txt" | cut -d' ' -f1 >"$out/versions"

echo "$(wc -l <"$out/versions") versions are simulated, $runs runs of each" >&2
number=0
while read -r version; do
  number=$((number + 1))
  day=$(printf '2026-%02d-%02dT00:00:00Z' $(((number + 1) / 2)) $((number % 2 ? 1 : 15)))
  printf '%s\0' "$version" "$day" $((1000 * number)) "$runs" "$out/runs/$version"
done <"$out/versions" | xargs -0 -n 5 -P "$(nproc)" "$here/simulate.sh" 2>"$out/simulated"

# Beside the next step: which of the versions up to 1.10.0 made it slower? And what would the pull request for 1.6.0 get?
"$SLOTMARK" store bisect slot_to_announced --good 1.1.0 --bad 1.10.0 --commits "$out/versions" --budget 5m -o "$out/bisect" \
  --run "'$here/simulate.sh' {commit} 2026-12-01T00:00:00Z {round} 1 {out}" >"$out/bisect.txt" 2>"$out/bisect.progress" &
bisect=$!
"$SLOTMARK" comment "$out/runs/1.5.0" "$out/runs/1.6.0" --base-note "the runs of 1.5.0" >"$out/comment.md" 2>"$out/comment.progress" &
comment=$!
trap 'kill "$bisect" "$comment" ${site:+"$site"} 2>/dev/null || true' EXIT

finished() { # PROCESS NAME
  wait "$1" || { cat "$out/$2.progress" >&2 && exit 1; }
}
add() { # MACHINE VERSION...
  local machine=$1
  shift
  "$SLOTMARK" store add "${@/#/$out/runs/}" --to "$out/store" --target made-up-node --machine "$machine" >/dev/null
}
# The two newest were measured on another machine: no series has runs of both.
mapfile -t versions <"$out/versions"
add "the old machine" "${versions[@]::18}"
add "the new machine" "${versions[@]:18}"

"$SLOTMARK" site --store "$out/store" --days 400 -o "$out/public" >/dev/null 2>"$out/site.progress" &
site=$!
"$SLOTMARK" history slot_to_announced --store "$out/store"
"$SLOTMARK" history --changes --store "$out/store"
finished "$bisect" bisect
cat "$out/bisect.txt"
finished "$comment" comment
finished "$site" site
echo "The comment on 1.6.0: $out/comment.md. The site: $out/public/index.html"
