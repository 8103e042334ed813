"""Histories and changes of runs in a store: planted steps are found and explained, stay where they are, and are open until readers accept them."""

import datetime
import shutil
from pathlib import Path

import msgspec
import numpy as np
import pytest

from slotmark.cli.store import time_ago_ns
from slotmark.compare.run_to_run.spread_table import SpreadTable
from slotmark.compare.spread import entry_of
from slotmark.errors import ComparisonError, StoreError
from slotmark.history import Labels, Store, changes_of, history_of, make_store, open_store
from slotmark.history.columns import Column, Estimates, Read
from slotmark.history.decisions import FILE, Accepted, Decisions, LeftOut, read_decisions
from slotmark.history.finding import found_changes
from slotmark.history.results import FoundChange
from slotmark.history.series import Group
from slotmark.metrics import catalogue
from slotmark.metrics.catalogue import Better
from slotmark.report import changes_document, history_document
from slotmark.report.sections.history import sparkline
from slotmark.statistics.between_runs import Spread
from slotmark.statistics.change_points import FIRST, Rules
from tests.conftest import slotmark
from tests.history.made import BEGIN, METRIC, levels, made
from tests.made_up_runs import MACHINE, write_run

STEP = 20
NEWER = msgspec.structs.replace(MACHINE, kernel="Linux 6.1.99")


@pytest.fixture(scope="module")
def stepped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of 26 runs, slower by 6 % from the 21st on, where only the kernel is another."""
    folder = tmp_path_factory.mktemp("stepped")
    store = make_store(folder / "store")
    planted = levels(STEP + 6) * np.where(np.arange(STEP + 6) < STEP, 1.0, 0.94)
    for day, level in enumerate(planted):
        run = made(folder, day, level, machine=NEWER if day >= STEP else MACHINE)
        store.add([run], Labels(version="1.0"))
    store.keep_index()
    return folder / "store"


@pytest.fixture
def store(stepped: Path, tmp_path: Path) -> Store:
    return open_store(Path(shutil.copytree(stepped, tmp_path / "store")))


def sure(store: Store, decisions: Decisions | None = None) -> list[FoundChange]:
    (series,) = history_of(store, METRIC, decisions or Decisions()).series
    return [one for one in series.changes if one.state == "sure"]


def day_of(change: FoundChange) -> int:
    return round((change.at_ns / 1e9 - datetime.datetime(2026, 9, 1, 10, tzinfo=datetime.UTC).timestamp()) / 86_400)


def test_a_planted_step_is_found_at_its_run_with_the_kernel_offered_first(store: Store) -> None:
    (change,) = sure(store)
    assert (day_of(change), change.kind, change.better, change.matters, change.runs) == (STEP, "step", False, True, 6)
    assert change.ratio is not None
    assert change.ratio.low < 0.94 < change.ratio.high
    assert change.explanations == ["only this changed, not the build: kernel Linux 6.1.0 -> Linux 6.1.99"]
    every = changes_of(store, Decisions())
    assert [one.id for one in every.changes if one.metric == METRIC] == [change.id]
    assert every.series > 3
    assert changes_of(store, Decisions(), since_ns=change.known_ns + 1).changes == []


@pytest.mark.parametrize(
    ("factor", "least_s", "better", "improved", "matters"),
    [
        (0.94, 0.0005, "lower", True, True),
        (0.94, 0.0007, "lower", True, False),
        (0.94, 0.0005, "higher", False, True),
        (1.06, 0.0005, "lower", False, True),
        (1.06, 0.0007, "higher", True, False),
    ],
)
def test_a_step_matters_beyond_the_margin_and_the_least_difference(
    factor: float, least_s: float, better: Better, improved: bool, matters: bool, tmp_path: Path
) -> None:
    """From 10 ms by 0.6 ms, of which 0.2 ms is the margin of 2 %."""
    metric = msgspec.structs.replace(catalogue("cluster")["peer_adopted"], least=least_s, better=better)
    count, step = 40, 20
    course = np.log(0.010) + 0.0005 * ((7 * np.arange(count)) % 5 - 2)
    course[step:] += np.log(factor)
    same: dict[str, object] = {"version": "1", "ref": "", "commit": "", "facts": []}
    rows = [
        {**same, "run": f"{place:064}", "name": f"r{place}", "at_ns": place, "added_ns": place}
        for place in range(count)
    ]
    group = Group("cluster", "node", "work", "machine")
    column = Column("log", course, np.zeros(count), np.exp(course))
    estimates = Estimates(group, rows, list(range(count)), {(metric.id, ""): column})
    read = Read(make_store(tmp_path / "store"), Decisions())
    (change,) = found_changes(read, estimates, [metric], Rules(), "slotmark")
    assert (change.at_ns, change.kind, change.state) == (step, "step", "sure")
    assert (change.before, change.after) == (pytest.approx(0.010), pytest.approx(0.010 * factor))
    assert (change.better, change.matters) == (improved, matters)


def test_a_parameter_that_changed_is_offered_and_one_that_may_differ_is_not(tmp_path: Path) -> None:
    store = make_store(tmp_path / "store")
    planted = levels(STEP + 6) * np.where(np.arange(STEP + 6) < STEP, 1.0, 0.94)
    for day, level in enumerate(planted):
        pinned = day < STEP
        parameters = {
            "pinned": pinned,
            "seed": 1 + pinned,
            "progress every": [1_000] * (1 + pinned),
            "modes": ["decode"] * (1 + pinned),
            "off": [],
            "target build": pinned,
        }
        store.add([made(tmp_path, day, level, parameters=parameters)], Labels(version="1.0"))
    store.keep_index()
    (change,) = sure(store)
    assert change.explanations == [
        "only this changed, not the build: parameter 'progress every' 1000, 1000 -> 1000; parameter 'pinned' yes -> no"
    ]


def test_what_is_never_below_0_has_no_interval_below_0(tmp_path: Path) -> None:
    store = make_store(tmp_path / "store")
    for day, switches in enumerate(([0, 0, 0.1, 0.2, 0.9, 1.0], [0, 0, 0, 0.1, 0.8, 1.0])):
        run = write_run(
            tmp_path / str(day), "pallas", {"decode, sequential": [1000.0 + day] * 6}, switches_per_block=switches
        )
        store.add([run], Labels(version=f"1.{day}"))
    (series,) = history_of(store, "switches_per_block", Decisions()).series
    assert [line.estimate.low for line in series.versions] == [0, 0]
    assert all(line.estimate.high > line.estimate.estimate > 0 for line in series.versions)


def test_series_that_are_too_short_to_be_searched_are_counted(tmp_path: Path) -> None:
    store = make_store(tmp_path / "store")
    for day in range(FIRST + 1):
        found = changes_of(store, Decisions())
        assert found.unsearched == found.series
        title = "No series has runs enough to look for changes"
        assert changes_document(found).title == title
        store.add([made(tmp_path, day, 1000.0 + day % 3)], Labels(version="1.0"))
    found = changes_of(store, Decisions())
    assert (found.unsearched, found.changes) == (0, [])
    assert found.series > 0
    assert changes_document(found).title == "No change"


def test_a_change_that_is_sure_never_moves_whatever_is_added(store: Store, tmp_path: Path) -> None:
    (before,) = sure(store)
    for day in (40, 41, 42):  # later ones, of a third level
        store.add([made(tmp_path, day, 1100.0)], Labels(version="1.1"))
    for day in (STEP + 1, STEP - 1, 3):  # measured before, added now, at levels of the other side
        store.add([made(tmp_path, day, 700.0, name=f"late-{day}")], Labels(version="1.0"))
    after = sure(store)
    assert (after[0].id, after[0].run, after[0].kind) == (before.id, before.run, before.kind)
    assert [day_of(one) for one in after] == [STEP, 40]
    assert after[1].explanations == ["kernel Linux 6.1.99 -> Linux 6.1.0", "version 1.0 -> 1.1"]


def test_a_single_run_is_new_and_fades(store: Store, tmp_path: Path) -> None:
    store.add([made(tmp_path, 50, 1500.0, machine=NEWER)], Labels(version="1.0"))
    (series,) = history_of(store, METRIC, Decisions()).series
    assert [(one.state, one.runs) for one in series.changes] == [("sure", 6), ("new", 1)]
    for day in (51, 52, 53):
        store.add([made(tmp_path, day, 940.0, machine=NEWER)], Labels(version="1.0"))
    (series,) = history_of(store, METRIC, Decisions()).series
    assert [one.state for one in series.changes] == ["sure"]


def test_a_step_after_a_drift_is_measured_from_where_the_drift_ended(tmp_path: Path) -> None:
    """Runs of a drift are of no level: they count neither for the step nor for what runs of one build differ by."""
    store = make_store(tmp_path / "store")
    course = np.concatenate([np.zeros(20), np.linspace(0, 0.3, 60), np.full(30, 0.3), np.full(20, 0.3 - np.log(1.1))])
    planted = levels(course.size, spread=0.005) * np.exp(-course)
    days = [(BEGIN + datetime.timedelta(days=day - course.size)).isoformat() for day in range(course.size)]
    runs = [made(tmp_path, day, level, started=days[day]) for day, level in enumerate(planted)]
    store.add(runs, Labels(version="1.0"))
    drift, step = sure(store)
    assert (drift.kind, step.kind, day_of(step) + course.size) == ("drift", "step", 110)
    assert step.ratio is not None and drift.ratio is not None
    assert step.ratio.estimate == pytest.approx(1.1, abs=0.01)
    assert step.ratio.high - step.ratio.low < 0.02
    assert drift.ratio.estimate < 0.8
    (series,) = history_of(store, METRIC, Decisions()).series
    (line,) = series.versions
    assert line.over == "runs"
    assert line.estimate.high / line.estimate.low - 1 < 0.01


def test_a_table_of_what_runs_differ_by_is_used_for_its_machine_alone(store: Store, tmp_path: Path) -> None:
    for day in range(4):
        elsewhere = msgspec.structs.replace(MACHINE, hostname_hash="another", cpu="Another CPU")
        store.add([made(tmp_path, day, 2000.0 + day, name=f"other-{day}", machine=elsewhere)], Labels(version="1.0"))
    metric = catalogue("chainsync")[METRIC]
    entry = entry_of(metric, "decode, sequential", Spread(1e-4, 8.0))
    table = SpreadTable(
        name="here", bench="chainsync", known_from="9 runs", machine=MACHINE.hostname_hash, metric=[entry]
    )
    used = {one.group.machine: one.table for one in history_of(store, METRIC, Decisions(), table=table).series}
    assert {machine: bool(words) for machine, words in used.items()} == {
        machine: not machine.startswith("Another") for machine in used
    }
    assert len(used) == 2
    oldest = min(store.table().to_pylist(), key=lambda row: row["at_ns"])
    store.remove_tables(oldest["run"])
    series = history_of(store, METRIC, Decisions(), table=table).series
    assert {one.group.machine: one.table for one in series} == used
    unlike = msgspec.structs.replace(table, machine="third")
    for find in (
        lambda: history_of(store, METRIC, Decisions(), table=unlike),
        lambda: changes_of(store, Decisions(), table=unlike),
    ):
        with pytest.raises(ComparisonError, match=r"no series is of the table's work and machine .*the machine third"):
            find()


@pytest.mark.parametrize(
    ("until", "versions", "holds"),
    [
        ("10.8", ["10.7", "v10.7.1"], True),
        ("10.8", ["10.8.0"], False),
        ("10.8", ["v10.8"], False),
        ("10.8", ["10.9"], False),
        ("10.8", ["10.10"], False),
        ("10.8", ["45ab12c", "4915321", "2026-11-29", "nightly"], True),
        ("nightly", ["10.9"], True),
        ("nightly", ["nightly"], False),
        ("2026-02-01", ["10.9"], True),
        ("2026-01-01", [], False),
    ],
)
def test_a_change_is_accepted_until_that_version_or_a_later_one_is_there(
    until: str, versions: list[str], holds: bool
) -> None:
    accepted = Accepted(change="a", reason="b", until=until)
    assert accepted.holds(datetime.date(2026, 1, 1), versions) == holds


@pytest.mark.parametrize("until", ["31.12.2026", "12/31/2026", "12/31/26", "2026-12", "2026-02-30", "10,8"])
def test_a_day_in_another_form_is_no_version_that_never_comes(until: str, store: Store) -> None:
    """The change would be accepted for good."""
    assert isinstance(store.place, Path)
    (change,) = sure(store)
    words = ("store", "accept", change.id, "--reason", "known", "--until", until, "--store", store.place)
    refused = slotmark(*words)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1), refused.stderr
    assert f"until '{until}', which is neither a day as 2026-12-31 nor a version" in refused.stderr
    assert not (store.place / FILE).exists()
    (store.place / FILE).write_text(f"[[accepted]]\nchange = 'a'\nreason = 'b'\nuntil = '{until}'")
    with pytest.raises(StoreError, match="neither a day as 2026-12-31 nor a version"):
        read_decisions(store)


@pytest.mark.parametrize("until", ["10.8", "v10.8.0", "10.8-pre", "2026-12-31", "nightly", "45ab2012"])
def test_a_change_is_accepted_until_a_day_or_any_version(until: str, store: Store) -> None:
    assert isinstance(store.place, Path)
    (store.place / FILE).write_text(f"[[accepted]]\nchange = 'a'\nreason = 'b'\nuntil = '{until}'")
    (accepted,) = read_decisions(store).accepted
    assert accepted.until == until


def test_a_day_may_be_a_date_of_toml_as_in_policies(store: Store) -> None:
    assert isinstance(store.place, Path)
    (store.place / FILE).write_text("[[accepted]]\nchange = 'a'\nreason = 'b'\nuntil = 2026-12-31\n")
    (accepted,) = read_decisions(store).accepted
    assert accepted.until == "2026-12-31"


def test_what_readers_decide_counts(store: Store) -> None:
    assert isinstance(store.place, Path)
    (change,) = sure(store)
    done = slotmark(
        *("store", "accept", change.id, "--reason", 'new "mempool"\\', "--until", "1.9", "--store", store.place)
    )
    assert done.returncode == 0, done.stderr
    decisions = read_decisions(store)
    (accepted,) = decisions.accepted
    assert (accepted.change, accepted.reason, accepted.until) == (change.id, 'new "mempool"\\', "1.9")
    assert accepted.when == datetime.datetime.now(datetime.UTC).date().isoformat()
    found = changes_of(store, decisions)
    assert change.id not in [one.id for one in found.changes]
    assert change.id in [one.id for one in found.accepted]
    twice = slotmark("store", "accept", change.id, "--reason", "again", "--store", store.place)
    assert twice.returncode == 2
    assert "accepted there already" in twice.stderr
    for until, open_again in (("1.0", True), ("2099-01-01", False), ("2020-01-01", True)):
        decided = Decisions(accepted=[msgspec.structs.replace(accepted, until=until)])
        assert (change.id in [one.id for one in changes_of(store, decided).changes]) == open_again
    # Without the runs of the new level there is no change, and a kind of machine is left out by its name.
    bad = [
        LeftOut(name=row["run"][:10], reason="disk full")
        for row in store.table().to_pylist()
        if row["at_ns"] >= change.at_ns
    ]
    assert sure(store, Decisions(bad_run=bad)) == []
    machine = LeftOut(name=change.group.machine, reason="gone")
    assert changes_of(store, Decisions(excluded_machine=[machine])).runs == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[accepted]]\nchange = 1", "no decisions"),
        ("[[accepted]]\nchange = 'a'", "missing required field `reason`"),
        ("[[ignored]]\nname = 'a'", "unknown field `ignored`"),
        ("x = [", "no decisions"),
    ],
)
def test_a_file_that_holds_no_decisions_is_refused(store: Store, tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "decisions.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(StoreError, match=words):
        read_decisions(store, file)
    store.files.put("decisions.toml", text.encode())
    with pytest.raises(StoreError, match=words):
        read_decisions(store)
    with pytest.raises(StoreError, match="can't be read"):
        read_decisions(store, tmp_path / "none.toml")


def test_a_line_per_version_with_the_spread_of_its_runs(tmp_path: Path) -> None:
    store = make_store(tmp_path / "store")
    planted = levels(9, seed=5)
    for day, level in enumerate(planted):
        store.add([made(tmp_path, day, level * (1 + 0.1 * (day // 3)))], Labels(version=f"1.{day // 3}", ref="abc"))
    found = history_of(store, METRIC, Decisions())
    (series,) = found.series
    assert [(one.version, one.runs, one.over) for one in series.versions] == [(f"1.{n}", 3, "runs") for n in range(3)]
    for number, line in enumerate(series.versions):
        assert line.estimate.low < 1000 * (1 + 0.1 * number) < line.estimate.high
        assert 0.01 < line.estimate.high / line.estimate.low - 1 < 0.08
    document = history_document(found)
    assert "1.2" in str(document)
    assert changes_document(changes_of(store, Decisions())).title == "No series has runs enough to look for changes"


def test_a_run_alone_has_the_interval_of_what_varies_within(tmp_path: Path) -> None:
    store = make_store(tmp_path / "store")
    store.add([made(tmp_path, 1, 1000.0)], Labels())
    (series,) = history_of(store, METRIC, Decisions()).series
    (line,) = series.versions
    assert (line.version, line.over, series.changes) == ("1.0.0", "within", [])
    assert line.estimate.low < line.estimate.estimate < line.estimate.high
    shown = slotmark("history", METRIC, "--store", tmp_path / "store", "--json")
    assert '"version": "1.0.0"' in shown.stdout


def test_accepting_what_is_no_change_is_refused(store: Store) -> None:
    ended = slotmark("store", "accept", "00000000", "--reason", "x", "--store", str(store.place))
    assert ended.returncode == 2
    assert "no change of" in ended.stderr


def test_sparklines_have_a_tick_a_value() -> None:
    assert sparkline([1.0, 2.0, 3.0]) == "▁▅█"
    assert sparkline([5.0, 5.0]) == "▄▄"
    assert sparkline([]) == ""
    assert Accepted(change="a", reason="b").holds(datetime.date(2026, 1, 1), set())


def test_the_whole_series_at_once_as_otava_and_a_table_of_the_spread(store: Store, tmp_path: Path) -> None:
    (series,) = history_of(store, METRIC, Decisions(), method="e-divisive").series
    assert [(day_of(one), one.state) for one in series.changes] == [(STEP, "by E-divisive")]
    shown = slotmark("history", METRIC, "--store", str(store.place), "--method", "e-divisive", "--significance", "1%")
    assert "by E-divisive" in " ".join(shown.stdout.split()), shown.stderr
    refused = slotmark("history", METRIC, "--store", str(store.place), "--run-to-run", tmp_path / "none.toml")
    assert (refused.returncode, "none.toml: can't be read" in refused.stderr) == (2, True)
    for share in ("6%", "100%", "0%", "much"):
        refused = slotmark("history", METRIC, "--store", str(store.place), "--significance", share)
        assert refused.returncode == 2
        assert (
            refused.stderr
            == f"slotmark: --significance '{share}': expected a share above 0 and up to 5 %, as in 0.01%.\n"
        )


NOW = datetime.datetime(2026, 10, 31, 6, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("text", "stands_for"),
    [
        ("30d", datetime.datetime(2026, 10, 1, 6)),
        ("12h", datetime.datetime(2026, 10, 30, 18)),
        ("2w", datetime.datetime(2026, 10, 17, 6)),
        ("2026-10-01", datetime.datetime(2026, 10, 1)),
    ],
)
def test_a_time_ago_is_in_hours_days_or_weeks_or_the_day_s_beginning(
    text: str, stands_for: datetime.datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time_ns", lambda: int(NOW.timestamp()) * 10**9)
    assert time_ago_ns("--since", text) == int(stands_for.replace(tzinfo=datetime.UTC).timestamp()) * 10**9


def test_the_command_shows_what_became_known_since_a_day_as_surely_as_was_asked(store: Store) -> None:
    """The step of 6 % is sure at any usual share, and not at one in a million millions."""
    (known,) = sure(store)
    day = datetime.datetime.fromtimestamp(known.known_ns / 1e9, datetime.UTC).date()

    def shown(*options: str) -> list[str]:
        done = slotmark("history", "--changes", "--store", str(store.place), "--json", *options)
        assert done.returncode == 0, done.stderr
        found = msgspec.json.decode(done.stdout)
        return [one["metric"] for one in found["changes"] if one["state"] == "sure"]

    assert shown("--since", day.isoformat()) == [METRIC]
    assert shown("--significance", "0.0000000001%") == []
    assert shown("--since", (day + datetime.timedelta(days=1)).isoformat()) == []
