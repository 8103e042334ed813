#!/usr/bin/env bash
# Installs the slotmark of this checkout for the later steps of a job, unless the machine has one. Needs Python 3.11 and Rust.
set -euo pipefail
if command -v slotmark >/dev/null; then
  exit 0
fi
here=$(cd "$(dirname "$0")/.." && pwd)
place=$RUNNER_TEMP/slotmark
python3 -m venv "$place"
"$place/bin/pip" install --quiet --require-hashes --requirement "$here/requirements.lock"
PATH="$place/bin:$PATH" "$place/bin/pip" install --quiet --no-deps --no-build-isolation "$here"
echo "$place/bin" >>"$GITHUB_PATH"
