"""Figures of runs in the formats of other tools: the same numbers, and the tools themselves read them."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from slotmark.compare import alone
from slotmark.metrics import catalogue
from slotmark.report.exports import FORMATS, Figure, figures
from slotmark.run import Run, Target
from slotmark.statistics.interval import Interval
from tests.conftest import slotmark
from tests.made_up_runs import bare_manifest, write_run

RATES = [1000.0, 1010.0, 990.0, 1005.0, 995.0, 1002.0]
NASTY = 'a b"\\/<x>\u2028\n# EOF\nBenchmarkX 1 1 ns/op -8'


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return write_run(tmp_path_factory.mktemp("runs") / "base", "client", {"decode, sequential": RATES})


def exported(run: Run, form: str) -> str:
    return FORMATS[form](figures([alone(run)]))


def test_bencher_and_the_action_have_levels_with_their_intervals(run: Run) -> None:
    measures = json.loads(exported(run, "bmf"))["chainsync/client/decode, sequential"]
    rows = {row.metric.id: row for row in alone(run).rows if row.summaries[0]}
    assert measures.keys() == rows.keys()
    for name, row in rows.items():
        [summary] = row.summaries
        assert summary is not None
        assert measures[name]["value"] == row.levels[0]
        if summary.median_interval:
            assert measures[name]["lower_value"] <= measures[name]["value"] <= measures[name]["upper_value"]
    listed = {one["name"].rpartition("/")[2]: one for one in json.loads(exported(run, "github-action-benchmark"))}
    assert listed.keys() == rows.keys()
    assert listed["blocks_per_s"]["value"] == measures["blocks_per_s"]["value"]
    assert listed["blocks_per_s"]["unit"] == "blocks/s"


def figure(unit: str, value: float) -> Figure:
    """A metric of a run in a unit, whose interval reaches from half of its level to twice that."""
    return Figure(
        manifest=bare_manifest("a", "chainsync", Target("client", "1", "", "", "")),
        metric=msgspec.structs.replace(catalogue("chainsync")["blocks_per_s"], unit=unit),
        part="",
        quantity="",
        level=value,
        interval=Interval(value, value / 2, 2 * value),
        samples=[],
    )


@pytest.mark.parametrize(
    ("unit", "value", "base"),
    [
        ("s", 1.5, "1.5 sec"),
        ("ms", 12.0, "0.012 sec"),
        ("us", 5.0, "5e-06 sec"),
        ("ns", 7.0, "7e-09 sec"),
        ("B", 3.0, "3.0 B"),
        ("MB", 20.0, "20000000.0 B"),
        ("MiB", 2.0, "2097152.0 B"),
        ("KiB/s", 2.0, "2048.0 B/s"),
        ("MiB/s", 2.0, "2097152.0 B/s"),
        ("MB/s", 2.0, "2000000.0 B/s"),
        ("%", 25.0, "0.25 ratio"),
        ("% of a core", 25.0, "0.25 cores"),
        ("", 0.5, "0.5 ratio"),
        ("blocks/s", 9.0, "9.0 blocks/s"),
        ("events/s", 8.0, "8.0 events/s"),
        ("/s", 6.0, "6.0 1/s"),
        ("slots", 4.0, "4.0 slots"),
    ],
)
def test_values_are_in_base_units(unit: str, value: float, base: str) -> None:
    one = figure(unit, value)
    number, name = base.split(" ", maxsplit=1)
    words = FORMATS["benchfmt"]([one]).splitlines()[-1].split(" ", maxsplit=3)
    assert (float(words[2]), words[3]) == (pytest.approx(float(number)), name)
    shown = [line.rpartition(" ")[2] for line in FORMATS["openmetrics"]([one]).splitlines() if line[0] != "#"]
    assert [float(one) for one in shown] == pytest.approx([float(number), float(number) / 2, 2 * float(number)])


def test_units_have_the_direction_of_their_metrics_and_their_openmetrics_names(run: Run) -> None:
    """Rates are better higher, times, memory and switches lower; shares of a core and of the floor have no unit in common."""
    lines = exported(run, "benchfmt").splitlines()
    assert sorted(line for line in lines if line.startswith("Unit ")) == [
        "Unit B better=lower",
        "Unit B/s better=higher",
        "Unit blocks/s better=higher",
        "Unit cores better=lower",
        "Unit sec better=lower",
    ]
    text = exported(run, "openmetrics")
    units = dict(re.findall(r"(?m)^# UNIT slotmark_chainsync_(\S+) (\S+)$", text))
    assert units == {
        "blocks_per_s_blocks_per_second": "blocks_per_second",
        "cpu_us_per_block_seconds": "seconds",
        "switches_per_block_ratio": "ratio",
        "peak_memory_mb_bytes": "bytes",
        "first_block_ms_seconds": "seconds",
        "startup_ms_seconds": "seconds",
        "mb_per_s_bytes_per_second": "bytes_per_second",
        "floor_share_ratio": "ratio",
        "server_share_cores": "cores",
        "window_blocks_per_s_blocks_per_second": "blocks_per_second",
    }
    samples = dict(re.findall(r'(?m)^slotmark_chainsync_(\w+)\{.*value="level"\} (\S+)$', text))
    # As `write_run` has them: 80 us, 24 MB, 1.5 ms, and 30 % of a core.
    for name, value in {
        "cpu_us_per_block_seconds": 80e-6,
        "peak_memory_mb_bytes": 24e6,
        "first_block_ms_seconds": 1.5e-3,
        "server_share_cores": 0.3,
    }.items():
        assert float(samples[name]) == pytest.approx(value), name


def test_a_range_is_from_the_low_end_to_the_high_end() -> None:
    one = figure("ms", 12.0)
    (entry,) = json.loads(FORMATS["github-action-benchmark"]([one]))
    assert (entry["value"], entry["unit"], entry["range"]) == (12.0, "ms", "6 to 24")
    ((measures),) = json.loads(FORMATS["bmf"]([one])).values()
    assert measures == {"blocks_per_s": {"value": 12.0, "lower_value": 6.0, "upper_value": 24.0}}


def test_the_command_gives_one_direction_and_refuses_two_runs_of_one_name(run: Run) -> None:
    assert run.path is not None
    one = slotmark("export", run.path, "--format", "github-action-benchmark", "--better", "lower")
    names = [entry["name"] for entry in json.loads(one.stdout)]
    assert any(name.endswith("/peak_memory_mb") for name in names)
    assert not any(name.endswith("/blocks_per_s") for name in names)
    other = write_run(run.path.parent / "other", "client", {"decode, sequential": RATES}, session="s2")
    for arguments in ((run.path, "--format", "github-action-benchmark"), (run.path, other.path, "--format", "bmf")):
        done = slotmark("export", *arguments)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    both = slotmark("export", run.path, other.path, "--format", "openmetrics")
    assert both.stdout.count("# TYPE slotmark_chainsync_blocks_per_s_blocks_per_second gauge") == 1


def test_a_line_per_independent_sample_in_base_units(run: Run) -> None:
    lines = [line.split() for line in exported(run, "benchfmt").splitlines() if line.startswith("Benchmark")]
    assert all(len(line) == 4 and line[1] == "1" for line in lines)
    rates = [float(line[2]) for line in lines if "/metric=blocks_per_s/" in line[0]]
    assert rates == pytest.approx(RATES, rel=1e-6)
    memory = {(float(line[2]), line[3]) for line in lines if "/metric=peak_memory_mb/" in line[0]}
    assert memory == {(24e6, "B")}


def test_no_name_is_another_line(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", NASTY, {f"decode, {NASTY}": RATES}, version=NASTY)
    text = exported(run, "openmetrics")
    assert text.splitlines().index("# EOF") == len(text.splitlines()) - 1
    sample = re.compile(r'slotmark_\w+\{(?:\w+="(?:[^"\\\n]|\\[\\"])*",?)+\} \S+')
    assert all(line.startswith("# ") or sample.fullmatch(line) for line in text.splitlines())
    lines = exported(run, "benchfmt").splitlines()
    assert all(re.fullmatch(r"Unit \S+ better=\w+|# .*|Benchmark\S+ 1 \S+ \S+", line) for line in lines)
    assert json.loads(exported(run, "bmf"))


TOOLS = {
    "benchstat": "golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da",
    "openmetrics": "prometheus_client==0.26.0",
}
"""Tools that were tried, by version."""


@pytest.mark.slow
def test_benchstat_finds_the_same_difference(run: Run, tmp_path: Path) -> None:
    if shutil.which("go") is None:
        pytest.skip("Go is not installed")
    slow = write_run(tmp_path / "slow", "client", {"decode, sequential": [rate * 0.8 for rate in RATES]})
    for name, one in (("base", run), ("slow", slow)):
        (tmp_path / f"{name}.txt").write_text(exported(one, "benchfmt"))
    done = subprocess.run(
        ["go", "run", TOOLS["benchstat"], "base.txt", "slow.txt"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    if "dial tcp" in done.stderr or "no such host" in done.stderr:
        pytest.skip("benchstat's modules can't be reached")
    assert done.returncode == 0, done.stderr
    assert re.search(r"metric=blocks_per_s/part=decode,_sequential .* -20\.00% \(p=0\.00\d n=6\)", done.stdout)
    assert re.search(r"metric=peak_memory_mb\S* +22\.89Mi ± 0%", done.stdout)


@pytest.mark.slow
def test_the_parser_of_prometheus_reads_every_sample(run: Run, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "own"], check=True)
    python = tmp_path / "own" / "bin" / "python"
    if subprocess.run([python, "-m", "pip", "install", "--quiet", TOOLS["openmetrics"]], check=False).returncode:
        pytest.skip("prometheus_client can't be installed")
    read = (
        "import json, sys\nfrom prometheus_client.openmetrics.parser import text_string_to_metric_families as read\n"
        "print(json.dumps({one.name: [sample.value for sample in one.samples] for one in read(sys.stdin.read())}))"
    )
    text = exported(run, "openmetrics")
    done = subprocess.run([python, "-c", read], input=text, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found.keys() == set(re.findall(r"(?m)^# TYPE (\S+) gauge$", text))
    assert found["slotmark_chainsync_peak_memory_mb_bytes"][0] == 24e6
