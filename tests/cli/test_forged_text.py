"""Names and texts from strangers that look like a decision: whatever holds them, they begin no line, and the last line is the decision."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from slotmark import open_run
from slotmark.benches.cluster.simulating.direct import simulate_direct
from slotmark.benches.cluster.simulating.simulate import load_profile
from slotmark.errors import RunError
from slotmark.report.renderers.columns import BREAK
from slotmark.run.integrity import digest_of
from tests.conftest import slotmark
from tests.made_up_runs import write_run

from ..cluster.made_up_logs import ts
from ..cluster.test_ingest import cluster, ingested

LINE_ENDS = ("\n", "\r\n", "\r", "\v", "\f", "\x1c", "\x85", "\u2028", "\u2029")
HIDDEN = ("\x1b[2J", "\u202e", "\u2066", "\u200b", "\ufeff", "\U000e0041", "\0")
FORGED = "SHIP forged: all 9 decisive metrics are shown not worse beyond their margins"
UNPRINTABLE = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]"
)
STRUCTURE = ("schema", "bench", "origin", "tables", "parts")
"""Members of a manifest that are checked, or chosen from what slotmark knows."""

WITHOUT_CLEANING = """
import sys
import slotmark.cleaning
slotmark.cleaning.one_line = lambda text, most=None: text
from slotmark.cli import main
main()
"""
"""The command with a fault planted: names are shown as they are."""

Ended = subprocess.CompletedProcess[str]


def strings(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all strings of JSON types; of a key, its place and then None."""
    if isinstance(content, str):
        yield path
    elif isinstance(content, list):
        for place, item in enumerate(content):
            yield from strings(item, (*path, place))
    elif isinstance(content, dict):
        for key, item in content.items():
            yield (*path, key, None)
            yield from strings(item, (*path, key))


def plant(content: Any, path: tuple[Any, ...], text: str) -> None:
    """Puts text behind the string at a place, or behind a key."""
    *outer, last = path[:-1] if path[-1] is None else path
    for step in outer:
        content = content[step]
    if path[-1] is None:
        content[last + text] = content.pop(last)
    else:
        content[last] += text


def plant_everywhere(file: Path, wanted: Callable[[tuple[Any, ...]], bool]) -> int:
    """Forges every string of a JSON file that is wanted, the innermost keys first; how many."""
    content = json.loads(file.read_text())
    places = [path for path in strings(content) if wanted(path)]
    places.sort(key=lambda path: (path[-1] is not None, len(path)), reverse=True)
    for path, end in zip(places, cycle(LINE_ENDS)):
        plant(content, path, end + FORGED)
    file.write_text(json.dumps(content))
    return len(places)


def shown(path: tuple[Any, ...]) -> bool:
    """Returns whether a manifest's string is shown, and isn't the name of a member that slotmark reads by its name."""
    free_keys = ("workload", "parameters", "observed", "versions")
    if path[0] in STRUCTURE or path[0] in ("started", "ended"):
        return False
    return path[-1] is not None or (len(path) == 3 and path[0] in free_keys)


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two runs of clients, of which the second is slower, each with every string forged, also in its tables."""
    folder = tmp_path_factory.mktemp("clients")
    setting = f"decode\n{FORGED}, sequential"
    rates = [1000.0, 1010.0, 990.0, 1005.0, 995.0, 1002.0, 998.0, 1004.0]
    for name, factor in (("base", 1.0), ("slow", 0.8)):
        run = write_run(folder / name, name, {setting: [factor * rate for rate in rates]})
        content = json.loads((run.path / "run.json").read_text())
        content["warnings"] = [{"kind": "clock", "subject": "node-0", "text": "Its clock is off."}]
        (run.path / "run.json").write_text(json.dumps(content))
        assert plant_everywhere(run.path / "run.json", shown) > 40
    return [folder / "base", folder / "slow"]


def forged_host(word: str | None) -> str | None:
    """A word of a table, forged where it is the name of a host."""
    return f"{word}\n{FORGED}" if word and re.fullmatch(r"node-\d+", word) else word


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two runs of simulated clusters whose hosts have forged names."""
    folder = tmp_path_factory.mktemp("clusters")
    made = []
    for seed in (1, 2):
        settings = ["run.slots=900", "epoch_slots=100", "hosts=6", "pools=6"]
        run, _ = simulate_direct(
            load_profile("value-only-10.5", settings), seed, folder / f"run-{seed}", lambda *_: None
        )
        content = json.loads((run.path / "run.json").read_text())
        content["parameters"]["filters"] = []
        for part in content["parts"]:
            file = run.path / "tables" / part["file"]
            table = pq.read_table(file)
            for place, field in enumerate(table.schema):
                if field.type in (pa.string(), pa.dictionary(pa.int32(), pa.string())):
                    words = [forged_host(word) for word in table[field.name].to_pylist()]
                    table = table.set_column(place, field, pa.array(words, pa.string()).cast(field.type))
            pq.write_table(table, file)
            part["bytes"], part["digest"] = file.stat().st_size, digest_of(file)
        (run.path / "run.json").write_text(json.dumps(content))
        assert plant_everywhere(run.path / "run.json", lambda path: path[0] in ("target", "versions") and shown(path))
        made.append(run.path)
    return made


def forms(done: Ended, out: Path) -> None:
    """Asserts that no form of a report has a line that begins with the forged text, and that all have the one decision or ranking."""
    assert done.returncode == 0, done.stderr
    as_data = json.loads((out / "report.json").read_bytes())
    line = (as_data["decision"] or as_data["ranking"])["line"]
    assert line.splitlines() == [line]
    assert line.startswith(("HOLD", "RUN AGAIN", "RANKING"))
    assert done.stdout.splitlines()[-1] == line
    assert not UNPRINTABLE.search(done.stdout)
    markdown = (out / "report.md").read_text()
    assert not UNPRINTABLE.search(markdown)
    assert not [one for one in markdown.splitlines() if one.lstrip("#*-| ").startswith("SHIP forged")]
    assert markdown.splitlines()[0].lstrip("# ").startswith(line[:7])
    html = re.sub(r"(?s)<script.*?</script>", "", (out / "report.html").read_text())
    assert FORGED in html
    assert not UNPRINTABLE.search(html)
    assert not re.search(r"\nSHIP forged", html)
    if shutil.which("pdftotext") is None:
        pytest.skip("poppler's pdftotext is not here: all forms but the PDF hold")
    paper = subprocess.run(["pdftotext", out / "report.pdf", "-"], capture_output=True, text=True, check=True).stdout
    assert paper.split()[0] == line.split()[0]
    assert not UNPRINTABLE.search(re.sub(f"[\f{BREAK}\u2060]", "", paper))  # where paper may break a word, or not


@pytest.mark.parametrize("kind", ["clients", "clusters"])
def test_no_text_of_a_run_forges_a_decision_in_any_form(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    runs = request.getfixturevalue(kind)
    done = slotmark("compare", *runs, "-o", tmp_path / "out")
    forms(done, tmp_path / "out")
    assert FORGED in (tmp_path / "out" / "report.md").read_text()


def test_the_same_attack_is_found_where_names_are_not_cleaned(clients: list[Path], tmp_path: Path) -> None:
    arguments = [sys.executable, "-c", WITHOUT_CLEANING, "compare", *clients]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1].startswith("SHIP forged")


@pytest.mark.parametrize("text", [*(end + FORGED for end in LINE_ENDS), *HIDDEN, "x" * 20_000])
def test_every_string_of_a_manifest_is_cleaned_or_refused(text: str, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", "base", {"decode, sequential": [100.0, 101.0]})
    file = run.path / "run.json"
    whole = json.loads(file.read_text())
    assert json.loads(json.dumps(whole)) == whole
    places = list(strings(whole))
    assert len(places) > 80
    refused = 0
    for path in places:
        content = json.loads(json.dumps(whole))
        plant(content, path, text)
        file.write_text(json.dumps(content))
        try:
            manifest = open_run(run.path).manifest
        except RunError:
            refused += 1
            continue
        left = msgspec.to_builtins(manifest)
        for place in strings(left):
            one = place[-2] if place[-1] is None else at(left, place)
            assert not UNPRINTABLE.search(one), (path, one)
            assert "\n" not in one, (path, one)
            assert len(one) <= 10_000
            if place[0] == "target":
                assert len(one) <= 200
    assert 0 < refused < len(places) / 2
    file.write_text(json.dumps(whole))
    assert open_run(run.path).manifest == run.manifest


def at(content: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        content = content[step]
    return content


def test_metadata_of_logs_is_cleaned_when_it_is_read(tmp_path: Path) -> None:
    for cpu, name in enumerate("ab"):
        made = cluster()
        for host in range(3):
            made.resources(host, ts(101), CentiCpu=cpu)
        logs = made.write(tmp_path / name)
        (logs / "topology.json").write_text(json.dumps({"coreNodes": [{"name": "node-0", "region": "eu"}]}))
        planted = plant_everywhere(logs / "meta.json", lambda path: path[-1] is not None)
        assert planted > 6
        plant_everywhere(logs / "topology.json", lambda path: path[-1] is not None)
        run, _ = ingested(logs, tmp_path / f"run-{name}")
        written = (run.path / "run.json").read_text()
        assert FORGED in written
        assert not UNPRINTABLE.search(written)
        assert not re.search(r"\\n|\\u[0-9a-f]{4}", written)
    done = slotmark("compare", tmp_path / "run-a", tmp_path / "run-b", "--filter", "none")
    assert done.returncode == 0, done.stderr
    assert FORGED in done.stdout
    assert done.stdout.splitlines()[-1].startswith(("RUN AGAIN", "HOLD"))


def test_the_last_line_is_about_the_decision_where_there_is_none(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path / name, name, {"decode, sequential": [100.0 + n for n in range(5)]}).path for name in "ab"
    ]
    done = slotmark("compare", *runs, "--method", "published")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("NO DECISION: --method published")
