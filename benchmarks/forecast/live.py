"""A forecast beside what then happens: a replay that is slower by a known factor, and live nodes that are slower by what that means.

A live run of five hosts gives the stages of the profile and the chain that is replayed. The replays of the slower build are those of our
engine with all times made longer by the factor (`--planted`, which the session starts as a target). The slower nodes wait in adoption
for the time that the factor adds to the first run's adoption.

    python benchmarks/forecast/live.py [FOLDER] [--minutes N] [--delay MS]
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from slotmark.benches.ledger.engine import program

ADOPTION = ("0.50 adoption", "0.80 adoption", "0.96 adoption", "1.00 adoption")
MINUTES, DELAY_MS, SEEDS, ROUNDS = 3, 100, 10, 15


def slotmark(*words: object) -> str:
    """Returns the output of a slotmark command; ends the script where it fails."""
    done = subprocess.run(
        [sys.executable, "-m", "slotmark", *map(str, words)], stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode not in (0, 1, 3):
        sys.exit(f"slotmark {' '.join(map(str, words))}: exit {done.returncode}")
    return done.stdout


def planted(factor: float, engine: str, genesis: str, chain: str, state: str, out: str) -> None:
    """Replays with our engine, and makes all times of its record longer by a factor."""
    record = Path(state) / "record.json"
    words = [
        engine,
        "--backend",
        "memory",
        "--genesis",
        genesis,
        "--chain",
        chain,
        "--state",
        f"{state}/set",
        "--out",
        str(record),
    ]
    subprocess.run(words, check=True)
    with record.open() as lines, Path(out).open("w") as longer:
        for line in lines:
            row = {
                name: round(value * factor) if name.endswith("_ns") else value
                for name, value in json.loads(line).items()
            }
            longer.write(json.dumps(row) + "\n")


def live(folder: Path, name: str, node: str, minutes: float) -> Path:
    """The run of a live cluster."""
    slotmark("cluster", "run", folder / "bed", "--for", f"{minutes}min", "--node", node, "-o", folder / name)
    return folder / name


def differences(report: str) -> dict[str, tuple[float, float, float]]:
    """The difference of each adoption centile with its interval, in ms, as a report's JSON has it."""
    rows = json.loads(report)["rows"]
    found = {}
    for row in rows:
        delta = row["differences"] and row["differences"][0] and row["differences"][0]["delta"]
        if row["metric"]["name"] in ADOPTION and delta:
            found[row["metric"]["name"]] = tuple(1e3 * delta[end] for end in ("estimate", "low", "high"))
    return found


def main(folder: Path, minutes: float, delay_ms: float) -> None:
    """Runs all of it and prints the table."""
    folder.mkdir(parents=True)
    slotmark("cluster", "create", "value-only-5", "-o", folder / "bed")
    base = live(folder, "base", "slotmark", minutes)
    stages = {one["name"]: one for one in json.loads(slotmark("cluster", "validate", base, "--json"))["stages"]}
    factor = 1 + delay_ms * 1e6 / stages["peer.adopt"]["mean_ns"]
    print(
        f"adoption takes {stages['peer.adopt']['mean_ns'] / 1e6:.2f} ms; {delay_ms:g} ms more are a factor of {factor:.2f}"
    )
    genesis = f"{base}.logs/genesis/genesis.shelley.json"
    slower = f"{sys.executable} {Path(__file__).resolve()} --planted {factor:.6f} {program()} {genesis} {{chain}} {{state}} {{out}}"
    slotmark(
        *("ledger", "run", "--live", f"{base}.logs/node-0", "--backend", "memory", "--target", f"slower={slower}"),
        *("--rounds", ROUNDS, "-o", folder / "replays"),
    )
    settings = [
        f"{name}.{what}"
        for name, one in stages.items()
        for what in (f"mean={one['mean_ns'] / 1e6:.6f}ms", f"sigma={one['sigma']:.4f}")
    ]
    settings += ["run.slots=20000", "peer.receive_per_kb=0ms", "peer.host_spread=0.0", "workload.tx_count=1000000000"]
    forecast = slotmark(
        *("forecast", folder / "replays", "--profile", folder / "bed" / "profile.toml", "--seeds", SEEDS, "--json"),
        *(word for setting in settings for word in ("--set", setting)),
    )
    (replayed,) = (one["replayed"] for one in json.loads(forecast)["details"] if one["type"] == "forecast")
    for one in replayed["factors"]:
        print(
            f"{one['stage']}: {one['factor']:.2f} [{one['low']:.2f}, {one['high']:.2f}], {one['blocks']} blocks ({one['which']})"
        )
    changed = live(folder, "changed", f"slotmark --delay adopt={round(delay_ms * 1e3)}us", minutes)
    measured = slotmark("compare", base, changed, "--json")
    print("| difference, ms | forecast | live |\n| --- | ---: | ---: |")
    ahead, happened = differences(forecast), differences(measured)
    for name in ADOPTION:
        cells = [
            f"{found[name][0]:+.1f} [{found[name][1]:+.1f}, {found[name][2]:+.1f}]" if name in found else "-"
            for found in (ahead, happened)
        ]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--planted"]:
        planted(float(sys.argv[2]), *sys.argv[3:])
        sys.exit()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="where to keep all of it; by default nothing is kept")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="of each of the two live runs")
    parser.add_argument("--delay", type=float, default=DELAY_MS, help="in ms, of the slower nodes")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        main((given.folder or Path(scratch) / "forecast").resolve(), given.minutes, given.delay)
