#!/usr/bin/env bash
# Builds the slotmark of this checkout for the later steps of a job, unless the machine has one. Needs Python 3.11, Rust, a C compiler and make.
#   install.sh [build|extension]    with the programs that measuring needs, or without: enough to compare
set -euo pipefail
if command -v slotmark >/dev/null; then
  exit 0
fi
here=$(cd "$(dirname "$0")/.." && pwd)
make -C "$here" "${1:-build}"
place=$RUNNER_TEMP/slotmark
mkdir -p "$place"
ln -sf "$here/.venv/bin/slotmark" "$place/" # alone: python and pip of the job stay its own
echo "$place" >>"$GITHUB_PATH"
