"""`slotmark store import`: figures that other tools kept, as runs; each format by what the tool itself wrote where it is installed."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from slotmark.errors import ImportFileError
from slotmark.history.importing import Asked, read_records
from slotmark.history.importing.figures import MOST_FIGURES
from slotmark.run import check_run
from tests.conftest import REPO, slotmark

NOTHING = Asked()


def written(folder: Path, content: Any, name: str = "results.json") -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return file


def figures(file: Path, form: str, asked: Asked = NOTHING) -> dict[tuple[str, str], list[float]]:
    (record,) = read_records(file, form, asked)
    return {(one.metric, one.part): one.samples for one in record.figures}


def test_benchers_format(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        {
            "sync": {"latency": {"value": 1500, "lower_value": 1400, "upper_value": 1600}, "throughput": {"value": 20}},
            "tip": {"Lag": {"value": 3.5}},
        },
    )
    assert figures(file, "bmf", Asked("ms", "lower")) == {
        ("imported_duration", "sync, latency"): [pytest.approx(1.5e-6)],
        ("imported_rate", "sync, throughput"): [20.0],
        ("imported_duration", "tip"): [pytest.approx(3.5e-3)],
    }
    with pytest.raises(ImportFileError, match=r"'tip' has no unit\. Give it with --unit"):
        read_records(file, "bmf", NOTHING)
    with pytest.raises(
        ImportFileError, match=r"'tip', in blocks, may be better lower or higher\. Say which with --better"
    ):
        read_records(file, "bmf", Asked("blocks"))
    assert figures(file, "bmf", Asked("blocks", "lower"))["imported_lower", "tip, blocks"] == [3.5]


def test_what_slotmark_exports_for_bencher_comes_back(tmp_path: Path) -> None:
    done = slotmark("simulate", "value-only-5", "--set", "slots=300", "--direct", "-o", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    exported = slotmark("export", tmp_path / "run", "--format", "bmf")
    file = written(tmp_path, exported.stdout)
    values = [metric["value"] for measures in json.loads(exported.stdout).values() for metric in measures.values()]
    found = figures(file, "bmf", Asked("1", "lower"))
    assert len(found) == len(values) > 20
    assert sorted(one for samples in found.values() for one in samples) == pytest.approx(sorted(values))


def test_pytest_benchmark_by_the_tool_itself(tmp_path: Path) -> None:
    pytest.importorskip("pytest_benchmark", reason="pytest-benchmark isn't installed")
    written(tmp_path, "def test_sum(benchmark):\n    benchmark(sum, range(100))\n", "test_it.py")
    words = ["-q", "-p", "no:cacheprovider", "--benchmark-json=out.json", "--benchmark-save-data", "test_it.py"]
    subprocess.run([sys.executable, "-m", "pytest", *words], cwd=tmp_path, check=True, capture_output=True)
    ((key, samples),) = figures(tmp_path / "out.json", "pytest-benchmark").items()
    assert key == ("imported_duration", "test_it.py::test_sum")
    stats = json.loads((tmp_path / "out.json").read_text())["benchmarks"][0]["stats"]
    assert sum(samples) / len(samples) == pytest.approx(stats["mean"], rel=0.01)


def test_pytest_benchmarks_form(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        {
            "machine_info": {"cpu": {"brand_raw": "Some CPU"}},
            "commit_info": {"id": "abc", "branch": "main"},
            "datetime": "2026-01-31T10:00:00+00:00",
            "benchmarks": [
                {"fullname": "a::b", "stats": {"mean": 0.5}},
                {"fullname": "a::c", "stats": {"mean": 0.5, "data": [0.25, 0.75]}},
            ],
        },
    )
    (record,) = read_records(file, "pytest-benchmark", NOTHING)
    assert (record.ref, record.branch, record.machine) == ("abc", "main", "Some CPU")
    assert {one.part: one.samples for one in record.figures} == {"a::b": [0.5], "a::c": [0.25, 0.75]}


def test_criterions_samples(tmp_path: Path) -> None:
    written(
        tmp_path, {"sampling_mode": "Linear", "iters": [1, 2, 4], "times": [10, 30, 40]}, "group/decode/new/sample.json"
    )
    written(tmp_path, {"iters": [1], "times": [1]}, "group/decode/base/sample.json")
    assert figures(tmp_path, "criterion") == {
        ("imported_duration", "group/decode"): pytest.approx([1e-8, 1.5e-8, 1e-8])
    }
    with pytest.raises(ImportFileError, match=r"no NAME/new/sample\.json"):
        read_records(tmp_path / "group" / "decode" / "base", "criterion", NOTHING)


def test_asvs_results(tmp_path: Path) -> None:
    written(
        tmp_path,
        {"bench.time_sync": {"unit": "seconds"}, "bench.track_blocks": {"unit": "blocks"}, "version": 2},
        "benchmarks.json",
    )
    file = written(
        tmp_path,
        {
            "version": 2,
            "commit_hash": "abc",
            "date": 1_767_225_600_000,
            "params": {"cpu": "Some CPU", "num_cpu": "2", "ram": "8"},
            "result_columns": ["result", "params"],
            "results": {
                "bench.time_sync": [[0.1, 0.2, None], [["1", "10", "100"]]],
                "bench.track_blocks": [[5], []],
                "bench.failed": None,
            },
        },
        "machine/abc-env.json",
    )
    (record,) = read_records(file, "asv", Asked(better="higher"))
    assert {(one.metric, one.part): one.samples for one in record.figures} == {
        ("imported_duration", "bench.time_sync(1)"): [0.1],
        ("imported_duration", "bench.time_sync(10)"): [0.2],
        ("imported_higher", "bench.track_blocks, blocks"): [5.0],
    }
    assert (record.ref, record.at, record.machine, record.left_out) == (
        "abc",
        "2026-01-01T00:00:00+00:00",
        "Some CPU, 2, 8",
        2,
    )


def test_asv_writes_nan_for_what_failed(tmp_path: Path) -> None:
    rows = '{"time_x": [[NaN], []], "time_y": [[0.5], []], "time_z": [[-Infinity], []]}'
    file = written(tmp_path, f'{{"commit_hash": "a", "result_columns": ["result", "params"], "results": {rows}}}')
    (record,) = read_records(file, "asv", Asked("s"))
    assert [(one.part, one.samples) for one in record.figures] == [("time_y", [0.5])]
    assert record.left_out == 2


def test_combinations_without_values_cost_nothing(tmp_path: Path) -> None:
    axes = [["1", "2"] * 5] * 20  # 10^20 combinations
    content = {"commit_hash": "a", "result_columns": ["result", "params"], "results": {"time_x": [[5], axes]}}
    assert len(figures(written(tmp_path, content), "asv", Asked("s"))) == 1


def test_lines_may_end_as_old_macs_end_them(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_bytes(b"time,commit,p50\r1767312000,b,1.6\r")
    assert figures(file, "otava", Asked("s")) == {("imported_duration", "p50"): [1.6]}


OTAVA = "time,commit,p50,p99\n2026-01-01T00:00:00,a,1.5,9\n1767312000,b,1.6,\n"


def test_otavas_rows(tmp_path: Path) -> None:
    first, second = read_records(written(tmp_path, OTAVA), "otava", Asked("ms"))
    assert [(one.metric, one.part, one.samples) for one in first.figures] == [
        ("imported_duration", "p50", [pytest.approx(0.0015)]),
        ("imported_duration", "p99", [pytest.approx(0.009)]),
    ]
    assert (first.ref, second.ref, second.left_out) == ("a", "b", 1)
    assert second.at == "2026-01-02T00:00:00+00:00"


def test_imported_figures_have_a_history(tmp_path: Path) -> None:
    rows = "".join(f"{1_767_225_600 + 86_400 * day},c{day},{100 + day % 3 + 30 * (day >= 20)}\n" for day in range(30))
    file = written(tmp_path, f"time,commit,p50\n{rows}", "rows.csv")
    store = tmp_path / "store"
    words = [
        "store",
        "import",
        file,
        "--format",
        "otava",
        "--to",
        store,
        "--target",
        "node",
        "--unit",
        "ms",
        "--machine",
        "runner",
    ]
    done = slotmark(*words)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 30
    assert all(line.endswith("(already there)") for line in slotmark(*words).stdout.splitlines())
    check_run(next((store / "runs").iterdir()))
    found = json.loads(slotmark("history", "imported_duration", "--store", store, "--json").stdout)
    (series,) = found["series"]
    assert series["group"]["machine"] == "runner"
    assert series["part"] == "p50"
    assert series["levels"][:3] == pytest.approx([0.1, 0.101, 0.102])
    assert [one["version"] for one in series["changes"] if one["state"] == "sure"] == ["c20"]


def test_a_commit_without_a_number_is_left_out_and_counted(tmp_path: Path) -> None:
    file = written(tmp_path, "\ufefftime,commit,p50\n1767225600,a,1.5\n1767312000,b,\n1767398400,c,nan\n", "rows.csv")
    words = ("store", "import", file, "--format", "otava", "--to", tmp_path / "store", "--target", "x", "--unit", "ms")
    done = slotmark(*words)
    assert done.returncode == 0, done.stderr
    assert [line.split()[1] for line in done.stdout.splitlines()] == ["a"]
    assert "2 figures without a number left out, and 2 commits without any other" in done.stderr


def test_equal_figures_of_a_commit_count_by_machine_time_and_target(tmp_path: Path) -> None:
    def imported(rows: str, *words: str) -> subprocess.CompletedProcess[str]:
        file = written(tmp_path, f"time,commit,p50\n{rows}", "rows.csv")
        to = ("--to", tmp_path / "store", "--unit", "ms")
        return slotmark("store", "import", file, "--format", "otava", *to, *words)

    done = imported("1767225600,a,1.5\n1767312000,a,1.5\n", "--target", "x", "--machine", "one")
    done_elsewhere = imported("1767225600,a,1.5\n", "--target", "x", "--machine", "other")
    of_another = imported("1767225600,a,1.5\n", "--target", "y", "--machine", "one")
    printed = done.stdout + done_elsewhere.stdout + of_another.stdout
    assert len({line.split()[0] for line in printed.splitlines()}) == 4
    assert "already there" not in printed
    again = imported("1767225600,a,1.5\n", "--target", "x", "--machine", "one", "--branch", "main")
    assert again.returncode == 2
    assert again.stderr.startswith(f"slotmark: {tmp_path / 'rows.csv'}, a: already in ")


def test_two_runs_of_one_imported_file_are_compared(tmp_path: Path) -> None:
    file = written(tmp_path, "time,commit,p50\n1767225600,a,1.5\n1767312000,b,2.5\n", "rows.csv")
    words = ("store", "import", file, "--format", "otava", "--to", tmp_path / "store", "--target", "x", "--unit", "ms")
    done = slotmark(*words)
    assert done.returncode == 0, done.stderr
    runs = [tmp_path / "store" / "runs" / line.split()[0] for line in done.stdout.splitlines()]
    compared = slotmark("compare", *runs, "--json")
    assert compared.returncode == 0, compared.stderr
    (row,) = json.loads(compared.stdout)["rows"]
    assert [side["mean"] for side in row["summaries"]] == [0.0015, 0.0025]
    assert row["differences"][0]["reason"] == "one sample doesn't show how much values vary"
    again = slotmark("compare", runs[0], runs[0])
    assert again.returncode == 2


def test_figures_without_a_time_are_said_to_be_ordered_by_when_they_were_added(tmp_path: Path) -> None:
    file = written(tmp_path, {"sync": {"latency": {"value": 1500}}})
    words = ("store", "import", file, "--format", "bmf", "--to", tmp_path / "store", "--target", "x")
    first = slotmark(*words, "--ref", "abc")
    assert first.returncode == 0, first.stderr
    assert first.stderr.endswith("they are ordered by when they were added: abc\n")
    assert "ordered by" not in slotmark(*words, "--ref", "abc").stderr


HOSTILE: list[tuple[str, str, str]] = [
    ("bmf", "{", "not as expected"),
    ("bmf", "[]", "not as expected"),
    ("bmf", "[" * 100_000, "not as expected"),
    ("bmf", '{"a": {"latency": {"value": "NaN"}}}', "no figure with a number"),
    ("bmf", '{"a": {"latency": {"value": true}}}', "no figure with a number"),
    ("pytest-benchmark", '{"benchmarks": 3}', "not as expected"),
    ("asv", '{"commit_hash": "a", "results": {}}', "no column result"),
    ("asv", '{"commit_hash": ' + "9" * 5_000 + "}", "not as expected"),
    ("asv", "[" * 100_000, "not as expected"),
    ("asv", '{"commit_hash": "a", "result_columns": ["result"], "results": {"x": [{}]}}', "no figure with a number"),
    ("otava", "", "expected a first row"),
    ("otava", "time,a\n1,2,3\n", "line 2 has 3 values, 2 expected"),
    ("otava", "time,a,a\n1,2,3\n", "two columns have one name"),
    ("otava", "time,a\n1,x\n", "no column has numbers"),
    ("otava", "time,a\nsoon,1\n", "'soon' is no time"),
    ("otava", "time,a\n1e300,1\n", "is no time"),
    ("otava", "time,a\n1,nan\n", "no figure with a number"),
    ("otava", f"time,a\n1,{'9' * 200_000}\n", "field larger than field limit"),
    ("bmf", f'{{"a": {{"latency": {{"value": {"9" * 400}}}}}}}', "no figure with a number"),
    (
        "asv",
        '{"commit_hash": "a", "result_columns": ["result", "params"], "results": {"x": [[5], [3]]}}',
        "params of 'x' aren't lists",
    ),
    (
        "asv",
        '{"commit_hash": "a", "date": 1e300, "result_columns": ["result"], "results": {"time_x": [[5]]}}',
        "is no time",
    ),
]


@pytest.mark.parametrize(("form", "content", "why"), HOSTILE)
def test_files_that_are_something_else_are_refused_in_a_line(form: str, content: str, why: str, tmp_path: Path) -> None:
    file = written(tmp_path, content)
    done = slotmark(
        "store", "import", file, "--format", form, "--to", tmp_path / "store", "--target", "x", "--unit", "ms"
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("slotmark: ") and why in line
    assert not (tmp_path / "store").exists()


def test_ten_thousand_figures_are_taken_and_one_more_is_refused(tmp_path: Path) -> None:
    def many(count: int) -> dict[str, Any]:
        return {f"b{one}": {"latency": {"value": one + 1}} for one in range(count)}

    assert len(figures(written(tmp_path, many(MOST_FIGURES)), "bmf")) == MOST_FIGURES
    with pytest.raises(ImportFileError, match="more than 10,000 figures"):
        read_records(written(tmp_path, many(MOST_FIGURES + 1)), "bmf", NOTHING)


@pytest.mark.parametrize("words", [["--format", "bfm"], ["--format", "bmf", "--better", "up"]])
def test_options_that_make_no_sense_are_refused(words: list[str], tmp_path: Path) -> None:
    done = slotmark("store", "import", written(tmp_path, "{}"), "--to", tmp_path / "store", "--target", "x", *words)
    assert done.returncode == 2
    assert words[-1] in done.stderr


@pytest.mark.slow
def test_otava_finds_what_it_found_before(tmp_path: Path) -> None:
    """The real tool reads the file that is imported, and both know the change: benchmarks/history/run installs it."""
    otava = REPO / ".build" / "otava" / "bin" / "otava"
    if not otava.exists():
        pytest.skip("Otava isn't installed: benchmarks/history/run does it")
    rows = "".join(f"{1_767_225_600 + 86_400 * day},c{day},{100 + day % 3 + 30 * (day >= 20)}\n" for day in range(40))
    file = written(tmp_path, f"time,commit,p50\n{rows}", "rows.csv")
    config = "tests:\n  it:\n    type: csv\n    file: rows.csv\n    time_column: time\n    attributes: [commit]\n    metrics:\n      p50:\n        column: p50\n"
    written(tmp_path, config, "otava.yaml")
    done = subprocess.run(
        [otava, "analyze", "it", "--since", "2020-01-01"],
        cwd=tmp_path,
        env={"OTAVA_CONFIG": "otava.yaml", "PATH": shutil.which("sh") or ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "+29" in done.stdout or "+30" in done.stdout or "+2" in done.stdout
    assert len(read_records(file, "otava", Asked("ms"))) == 40
