"""Programs that are called and that answer as db-analyser of each age: its help, its flags, its files. What they time is made up.

The help texts have the flags that its sources define in 2023, 2025 and 2026, in the layout of its parser of options.
"""

import sys
from pathlib import Path

_COMMON = """\
[--show-slot-block-no | --count-tx-outputs |
                     --show-block-header-size | --show-block-txs-size |
                     --show-ebbs | --store-ledger SLOT_NUMBER | --count-blocks |
                     --checkThunks BLOCK_COUNT | --trace-ledger |
                     --repro-mempool-and-forge INT |
                     --benchmark-ledger-ops [--out-file FILE]{reapply} |
                     --get-block-application-metrics NUM [--out-file FILE]]
                   [--num-blocks-to-process INT]"""

_OPTIONS = """

  Simple framework used to analyse a Chain DB

Available options:
  --db PATH                Path to the Chain DB
  --verbose                Enable verbose logging
  --analyse-from SLOT_NUMBER
                           Start analysis at this slot
  --benchmark-ledger-ops   Benchmark the main ledger calculations
  --out-file FILE          Optional output file. Default is to write to stdout.
  --num-blocks-to-process INT
                           Maximum number of blocks we want to process
"""

_COMMANDS = """  -h,--help                Show this help text

Available commands:
  byron
  shelley
  cardano
"""

_OF_COMMAND = """Usage: db-analyser cardano --config PATH [--threshold THRESHOLD]

  Analyse a Cardano chain

Available options:
  --config PATH            Path to config file
  --threshold THRESHOLD    PBftSignatureThreshold
  -h,--help                Show this help text
"""

HELP = {
    "2023": "Usage: db-analyser --db PATH [--verbose]\n"
    "                   [--only-immutable-db [--analyse-from SLOT_NUMBER]]\n"
    "                   [--validate-all-blocks | --minimum-block-validation] COMMAND\n"
    "                   " + _COMMON.format(reapply="") + _OPTIONS + _COMMANDS,
    "2025": "Usage: db-analyser --db PATH [--verbose] [--analyse-from SLOT_NUMBER]\n"
    "                   [--db-validation ARG]\n"
    "                   "
    + _COMMON.format(reapply=" [--reapply]")
    + "\n                   (--v1-in-mem | --lmdb | --v2-in-mem) COMMAND"
    + _OPTIONS
    + _COMMANDS,
    "2026": "Usage: db-analyser --db PATH [--verbose] [--analyse-from SLOT_NUMBER]\n"
    "                   [--db-validation ARG]\n"
    "                   "
    + _COMMON.format(reapply=" [--reapply]")
    + "\n                   (--in-mem | --lsm [--lsm-no-cache]) --config PATH\n"
    "                   [--threshold THRESHOLD]" + _OPTIONS + "  --config PATH            Path to config file\n",
}
"""The text of --help by age."""

BACKENDS = {"2023": [], "2025": ["--v1-in-mem", "--lmdb", "--v2-in-mem"], "2026": ["--in-mem", "--lsm"]}
TIMES_WITHOUT_T = {"2023": False, "2025": False, "2026": True}

_PROGRAM = '''#!{python}
"""db-analyser of {age}, as its caller sees it."""
import json, os, sys
from pathlib import Path
from slotmark import _core

HELP, OF_COMMAND = {help!r}, {of_command!r}
FLAGS = {{"--verbose": 0, "--only-immutable-db": 0, "--benchmark-ledger-ops": 0, "--reapply": 0, "--lsm-no-cache": 0, "--db": 1, "--config": 1,
         "--analyse-from": 1, "--out-file": 1, "--num-blocks-to-process": 1, **dict.fromkeys({backends!r}, 0)}}


def fail(text):
    sys.exit(text + "\\n\\n" + HELP)


words, runtime, given, command = [], [], {{}}, None
here = words
for word in sys.argv[1:]:
    if word in ("+RTS", "-RTS"):
        here = runtime if word == "+RTS" else words
    else:
        here.append(word)
if words[-1:] == ["--help"]:
    print(OF_COMMAND if words[:-1] == ["cardano"] else HELP, end="")
    sys.exit(0)
while words:
    word = words.pop(0)
    if not word.startswith("-"):
        if command or "COMMAND" not in HELP or word != "cardano":
            fail(f"Invalid argument `{{word}}'")
        command = word
    elif word not in FLAGS or word not in HELP + (OF_COMMAND if command else ""):
        fail(f"Invalid option `{{word}}'")
    else:
        given[word] = words.pop(0) if FLAGS[word] else True
for flag in ("--db", "--config"):
    if flag not in given:
        fail(f"Missing: {{flag}} PATH")
if "COMMAND" in HELP and not command:
    fail("Missing: COMMAND")
if {backends!r} and sum(flag in given for flag in {backends!r}) != 1:
    fail("Missing: " + " | ".join({backends!r}))
if "--benchmark-ledger-ops" not in given:
    fail("validation only")
if "-T" not in runtime and not {times_without!r}:
    sys.exit("db-analyser: GHC.Stats.getRTSStats: GC stats not enabled. Use `+RTS -T -RTS' to enable them.")
Path(given["--config"]).read_bytes()
db = Path(given["--db"])
if "--lsm" in given:
    (db / "lsm").mkdir()
start = "origin"
if "--analyse-from" in given:
    (db / "ledger" / given["--analyse-from"]).stat()  # the test's snapshots are exactly there
points = [point for _, _, point in _core.digests(str(db / "immutable"), "origin", _core.chain_window(str(db / "immutable"), "origin", None).blocks, "headers", 1)]
slots = [int(point.split(".")[0]) for point in points]
slots = [slot for slot in slots if slot > int(given.get("--analyse-from", -1))][: int(given.get("--num-blocks-to-process", 10**9))]
known = {{"slotGap": 20, "totalTime": 0, "mut": 0, "gc": 7, "majGcCount": 0, "mut_forecast": 3, "mut_headerTick": 9, "mut_headerApply": 500,
         "mut_blockTick": 20, "mut_blockApply": 900}}
late = {{"tableReadTime": 60, "mut_tableRead": 60, "minGcCount": 1, "allocatedBytes": 16777216, "blockByteSize": 860}}
with open(given["--out-file"], "w") as file:
    if given["--out-file"].endswith(".json") and {age!r} != "2023":
        json.dump({{"compilerName": "ghc", "compilerVersion": "9.6", "gitRevison": "1356d3e9b", "ledgerApplicationMode":
                   "reapplication" if "--reapply" in given else "full-application"}}, file)
        for slot in slots:
            mut = 1500 + os.getpid() % 50 + slot % 7
            row = {{"slot": slot, **known, **(late if {age!r} == "2026" else {{}}), "totalTime": mut + 7, "mut": mut, "blockStats": ["0", "0"]}}
            json.dump(row, file, separators=(",", ":"))
    else:
        file.write("\\t".join(["slot", *known, "...era-specific stats"]) + "\\n")
        for slot in slots:
            mut = 1500 + os.getpid() % 50 + slot % 7
            file.write("\\t".join(map(str, [slot, *{{**known, "totalTime": mut + 7, "mut": mut}}.values(), 0, 0])) + "\\n")
print("ImmutableDB tip: At", slots[-1])
'''


def db_analyser(folder: Path, age: str, shown: str | None = None) -> Path:
    """The program of an age in a folder; one whose help is another text, where that is given."""
    file = folder / "db-analyser"
    file.parent.mkdir(parents=True, exist_ok=True)
    text = _PROGRAM.format(
        python=sys.executable,
        age=age,
        help=HELP[age] if shown is None else shown,
        of_command=_OF_COMMAND,
        backends=BACKENDS[age],
        times_without=TIMES_WITHOUT_T[age],
    )
    file.write_text(text, encoding="utf-8")
    file.chmod(0o755)
    return file
