"""Forecasts: replays of two builds whose costs differ by a known factor, and a simulation with that factor set by hand beside them."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from slotmark.benches.cluster.simulating.forecast import by_mode, replayed, two_sides
from slotmark.benches.cluster.simulating.forecast import forecast as forecast_runs
from slotmark.benches.cluster.simulating.predict import predict_change
from slotmark.benches.ledger.importing import Recording, import_recordings
from slotmark.compare import compare
from slotmark.compare.result import Comparison
from slotmark.compare.results.details import Forecast
from slotmark.errors import RunError, SlotmarkError
from slotmark.metrics import catalogue
from slotmark.metrics.predicted import CONFIDENCE, records_of
from slotmark.run import Run, open_run, open_runs
from slotmark.statistics.distributions import t_ppf
from slotmark.statistics.student import satterthwaite
from tests.conftest import slotmark
from tests.ledger.recordings import METADATA, points, tab_separated, written

PHASES = ("mut_forecast", "mut_headerTick", "mut_headerApply", "mut_blockTick", "mut_blockApply")

SMALL = """
extends = "value-only-10.5"
name = "small"
description = "Value-only workload, 8 hosts, cardano-node 10.5"

[run]
slots = 700

[genesis]
epoch_slots = 100

[network]
hosts = 8
pools = 8
"""


def replays(
    folder: Path,
    name: str,
    *,
    seed: int,
    tick: float = 1.0,
    apply: float = 1.0,
    noise: float = 0.01,
    processes: int = 5,
    blocks: int = 60,
    small_apply: float | None = None,
    mode: str = "",
    session: str = "turns",
) -> Path:
    """A run of db-analyser's files: ticking and applying take a factor longer, each process its own chance.

    Args:
        folder: Of the run folder.
        name: Of the build.
        seed: Of the chance.
        tick: The factor of block tick.
        apply: The factor of all else; of blocks from 40 kB on where ``small_apply`` is given.
        noise: The standard deviation of a process's log cost.
        processes: How many.
        blocks: How many.
        small_apply: The factor of smaller blocks.
        mode: Of the files' ledger application; they are JSON then.
        session: The same for builds that took turns.
    """
    draws = np.random.default_rng(seed)
    files = []
    for process in range(processes):
        level = 100 * np.exp(draws.normal(0, noise))
        recorded = []
        for place, point in enumerate(points(blocks, seed=3, with_table_read=False)):
            size = 89_000 if place % 2 else 3_000
            factor = small_apply if small_apply is not None and size < 40_000 else apply
            costs = {
                phase: round(level * point[phase] * (tick if phase == "mut_blockTick" else factor)) for phase in PHASES
            }
            total = sum(costs.values())
            recorded.append({**point, **costs, "gc": 0, "mut": total, "totalTime": total, "blockBytes": size})
        if mode:
            text = "\n".join(json.dumps(one) for one in [{**METADATA, "ledgerApplicationMode": mode}, *recorded])
            files.append(written(folder, f"{name}-{process}.json", text))
        else:
            columns = [
                "slot",
                "slotGap",
                "totalTime",
                "mut",
                "gc",
                "majGcCount",
                "minGcCount",
                "allocatedBytes",
                *PHASES,
                "blockBytes",
            ]
            files.append(written(folder, f"{name}-{process}.csv", tab_separated(recorded, columns)))
    import_recordings([Recording(target=name, files=files, factors={}, out=folder / name)], session=session)
    return folder / name


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("profile") / "small.toml"
    file.write_text(SMALL)
    return file


@pytest.fixture(scope="module")
def ledger_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two builds: ticking takes twice as long, all else one and a half times."""
    folder = tmp_path_factory.mktemp("ledger") / "runs"
    replays(folder, "a-old", seed=1)
    replays(folder, "b-new", seed=2, tick=2.0, apply=1.5)
    return folder


@pytest.fixture(scope="module")
def forecast(ledger_runs: Path, small: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, dict]:
    """The folder of a forecast, what it prints, and its JSON."""
    out = tmp_path_factory.mktemp("forecast") / "runs"
    done = slotmark("forecast", ledger_runs, "--profile", small, "--seeds", "4", "-o", out)
    assert done.returncode == 0, done.stderr
    return out, done.stdout, json.loads((out / "report.json").read_text(encoding="utf-8"))


def test_the_factors_are_those_that_were_planted_and_of_the_right_stages(forecast: tuple[Path, str, dict]) -> None:
    out, printed, _ = forecast
    scaled = records_of(open_run(out / "changed").manifest).replayed
    assert scaled is not None
    assert (scaled.baseline, scaled.candidate) == ("a-old", "b-new")
    found = {one.stage: one for one in scaled.factors}
    assert set(found) == {"forging.ledger_tick", "forging.self_adopt", "peer.adopt"}
    for stage, planted in (("forging.ledger_tick", 2.0), ("forging.self_adopt", 1.5), ("peer.adopt", 1.5)):
        assert found[stage].low < planted < found[stage].high, stage
        assert found[stage].high / found[stage].low < 1.1, stage
    (kept,) = scaled.kept
    assert kept.stage == "forging.mempool_snapshot"
    assert "forging.mempool_snapshot stays as the profile has it" in " ".join(printed.split())
    assert "--reapply" in kept.reason
    settings = open_run(out / "changed").manifest.parameters["settings"]
    assert {one.partition(".mean*=")[0] for one in settings} == set(found)


def by_hand(folder: Path, profile: Path, factors: dict[str, float]) -> Comparison:
    """The figures of `predict` for a profile whose stages are multiplied by hand."""
    settings = [f"{stage}.mean*={factor:.9g}" for stage, factor in factors.items()]
    return compare(predict_change(profile, settings, range(1, 5), folder, lambda *_: None))


def test_the_interval_is_that_of_a_simulation_with_the_factors_set_by_hand_and_both_errors(
    forecast: tuple[Path, str, dict], small: Path, tmp_path: Path
) -> None:
    out, _, report = forecast
    scaled = records_of(open_run(out / "changed").manifest).replayed
    assert scaled is not None
    degrees = min(one.degrees for one in scaled.factors)
    reach = float(t_ppf((1 + CONFIDENCE) / 2, degrees))
    here, low, high = (
        by_hand(
            tmp_path / name, small, {one.stage: one.factor * float(np.exp(away * one.error)) for one in scaled.factors}
        )
        for name, away in (("here", 0.0), ("low", -reach), ("high", reach))
    )
    assert len(here.rows) == len(report["rows"]) > 15
    told = {
        one["metric"]: one for detail in report["details"] if detail["type"] == "forecast" for one in detail["errors"]
    }
    for row, ours, below, above in zip(report["rows"], here.rows, low.rows, high.rows, strict=True):
        name = ours.metric.name
        assert row["metric"]["name"] == name
        (difference,), (of_seeds,) = row["differences"], ours.differences
        assert of_seeds is not None
        assert of_seeds.delta is not None
        # The middle is that of the simulation by hand, and so is the seeds' part of the error.
        assert difference["delta"]["estimate"] == pytest.approx(of_seeds.delta.estimate, abs=1e-12), name
        seeds = (of_seeds.delta.high - of_seeds.delta.estimate) / float(t_ppf(0.975, 3))
        ends = [one.summaries[1] for one in (below, above)]
        assert all(ends)
        replays_part = abs(ends[1].mean - ends[0].mean) / 2 / reach  # pyright: ignore[reportOptionalMemberAccess]
        whole = float(np.hypot(seeds, replays_part))
        parts = [(one, of) for one, of in ((seeds**2, 3.0), (replays_part**2, degrees)) if one > 0]
        t = float(t_ppf(0.975, satterthwaite(whole**2, parts))) if parts else 0.0
        assert difference["delta"]["high"] - difference["delta"]["estimate"] == pytest.approx(t * whole, abs=1e-9), name
        of_row = told[row["metric"]["id"]]
        assert of_row["seeds"] == pytest.approx(seeds, abs=1e-9)
        assert of_row["replays"] == pytest.approx(replays_part, abs=1e-9)
        assert of_row["whole"] == pytest.approx(whole, abs=1e-9)
    adopted = told["adopted_by_096"]
    assert min(adopted["replays"], adopted["seeds"]) > 0, "no part of the error went missing"


def forecast_here(folders: Sequence[Path], profile: Path, out: Path, settings: Sequence[str] = ()) -> list[Run]:
    """A forecast of three seeds in this process."""
    sides = two_sides(list(map(str, folders)), [open_runs(folder) for folder in folders])
    scaled = replayed(by_mode(sides), ("old", "new"), profile, settings)
    return forecast_runs(profile, settings, scaled, [], range(1, 4), out, lambda *_: None)


def test_replays_that_vary_more_make_the_interval_wider_by_as_much(small: Path, tmp_path: Path) -> None:
    errors = []
    for noise in (0.01, 0.05):
        folder = tmp_path / str(noise)
        replays(folder, "a-old", seed=1, noise=noise)
        replays(folder, "b-new", seed=2, apply=1.5, noise=noise)
        details = compare(forecast_here([folder], small, tmp_path / f"out-{noise}")).details
        (detail,) = (one for one in details if isinstance(one, Forecast))
        assert isinstance(detail, Forecast)
        errors += [one.replays for one in detail.errors if one.metric == "adopted_by_096"]
    assert 3 < errors[1] / errors[0] < 8


def test_both_run_folders_compare_to_the_same_report(forecast: tuple[Path, str, dict], tmp_path: Path) -> None:
    out, printed, report = forecast
    done = slotmark("compare", out / "base", out / "changed", "-o", tmp_path / "again")
    assert done.returncode == 0, done.stderr
    again = json.loads((tmp_path / "again" / "report.json").read_text(encoding="utf-8"))
    assert again["rows"] == report["rows"]
    assert again["details"] == report["details"]
    for file in ("report.html", "report.pdf", "report.md"):
        assert (out / file).stat().st_size > 1000
    assert "Simulated: b-new against a-old" in printed
    said = (out / "report.md").read_text(encoding="utf-8")
    for name in (
        "Ledger ticking",
        "Slot start to announced",
        "0.50 adoption",
        "1.00 adoption",
        "from the replays",
        "from the seeds",
    ):
        assert name in said
    # Exchanged, the error of the replays is in the interval too.
    turned = compare([open_run(out / "changed"), open_run(out / "base")])
    for row, ours in zip(report["rows"], turned.rows, strict=True):
        (difference,) = ours.differences
        assert difference is not None
        assert difference.delta is not None
        assert difference.delta.high == pytest.approx(-row["differences"][0]["delta"]["low"], abs=1e-12)


def test_the_same_replays_forecast_the_same_bytes(ledger_runs: Path, small: Path, tmp_path: Path) -> None:
    first, again = (forecast_here([ledger_runs], small, tmp_path / name) for name in ("first", "again"))
    assert len(first) == 2
    for one, other in zip(first, again, strict=True):
        assert (one.path / "run.json").read_bytes() == (other.path / "run.json").read_bytes()


def pair_of(*folders: Path) -> tuple[list[Run], list[Run]]:
    base, changed = (open_runs(folder) for folder in folders)
    return base, changed


def test_shards_make_the_forecast_of_one_call(
    forecast: tuple[Path, str, dict], ledger_runs: Path, small: Path, tmp_path: Path
) -> None:
    out, printed, _ = forecast
    shards = tmp_path / "shards"
    for shard in ("2/2", "1/2"):
        given = (ledger_runs, "--profile", small, "--seeds", "4", "--shard", shard, "-o", shards)
        done = slotmark("forecast", *given)
        assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"Merge them: slotmark merge {shards} -o OUT\n")
    merged = slotmark("merge", shards, "-o", tmp_path / "merged")
    assert merged.stdout.replace(str(tmp_path / "merged"), str(out)) == printed
    for name in ("report.json", "report.html", "base/run.json", "changed/run.json"):
        assert (tmp_path / "merged" / name).read_bytes() == (out / name).read_bytes(), name


def test_a_factor_is_the_ratio_that_compare_has_of_all_blocks_together(tmp_path: Path, small: Path) -> None:
    sides = pair_of(replays(tmp_path, "old", seed=1), replays(tmp_path, "new", seed=2, tick=1.2, apply=1.1))
    settings = ["block_size=2000kB"]  # no block is near it, so that all count
    scaled = replayed(by_mode(sides), ("old", "new"), small, settings)
    rows = {
        row.metric.name: row for row in compare(sides).rows if row.quantity == "all blocks together" and not row.part
    }
    assert len(scaled.factors) == 3
    for one in scaled.factors:
        (difference,) = rows[one.cost].differences
        assert difference is not None
        assert difference.ratio is not None
        assert (one.factor, one.low, one.high) == (
            difference.ratio.estimate,
            difference.ratio.low,
            difference.ratio.high,
        )
        assert one.which.startswith("all")
        assert one.blocks == 60


def test_adoption_follows_the_blocks_of_the_profile_s_size(tmp_path: Path, small: Path) -> None:
    sides = pair_of(replays(tmp_path, "old", seed=1), replays(tmp_path, "new", seed=2, apply=1.5, small_apply=3.0))
    # Blocks of 89 and of 3 kB: those from half to twice the profile's size count, both ends included.
    for settings, planted, which in (
        [[], 1.5, "44.5 to 178 kB"],
        [["block_size=178kB"], 1.5, "89 to 356 kB"],
        [["block_size=44.5kB"], 1.5, "22.2 to 89 kB"],
        [["block_size=3kB"], 3.0, "1.5 to 6 kB"],
    ):
        scaled = replayed(by_mode(sides), ("old", "new"), small, settings)
        (adopt,) = (one for one in scaled.factors if one.stage == "peer.adopt")
        assert adopt.factor == pytest.approx(planted, rel=0.03)
        assert (adopt.which, adopt.blocks) == (which, 30)


def test_replays_that_reapply_give_the_snapshot_and_not_adoption(tmp_path: Path, small: Path) -> None:
    full = [
        replays(tmp_path / "full", name, seed=n, apply=f, mode="full-application")
        for n, (name, f) in enumerate((("old", 1.0), ("new", 1.5)))
    ]
    again = [
        replays(tmp_path / "again", name, seed=n + 5, apply=f, tick=f**5, mode="reapplication")
        for n, (name, f) in enumerate((("old-re", 1.0), ("new-re", 2.0)))
    ]
    alone = replayed(by_mode(pair_of(*again)), ("old", "new"), small, [])
    assert [one.stage for one in alone.factors] == ["forging.ledger_tick", "forging.mempool_snapshot"]
    assert [one.stage for one in alone.kept] == ["forging.self_adopt", "peer.adopt"]
    sides = tuple([*open_runs(one), *open_runs(other)] for one, other in zip(full, again, strict=True))
    both = replayed(by_mode((sides[0], sides[1])), ("old", "new"), small, [])
    found = {one.stage: one.factor for one in both.factors}
    assert not both.kept
    assert found["forging.mempool_snapshot"] == pytest.approx(2.0, rel=0.03)
    assert found["peer.adopt"] == pytest.approx(1.5, rel=0.03)


def test_the_first_target_of_the_session_is_the_baseline(tmp_path: Path) -> None:
    for name, place in (("new", 1), ("old", 0)):
        run = replays(tmp_path, name, seed=1)
        manifest = json.loads((run / "run.json").read_text())
        manifest["parameters"]["target place"] = place
        (run / "run.json").write_text(json.dumps(manifest))
    base, changed = two_sides([str(tmp_path)], [open_runs(tmp_path)])
    assert [run.manifest.target.name for run in (*base, *changed)] == ["old", "new"]


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory, forecast: tuple[Path, str, dict]) -> Path:
    """Folders of runs of which no forecast can be made, by name."""
    folder = tmp_path_factory.mktemp("wrong")
    replays(folder / "one", "old", seed=1)
    for name in ("old", "new", "newer"):
        replays(folder / "three", name, seed=1)
    for n, name in enumerate(("a", "b")):
        replays(folder / "few", name, seed=n, processes=2)
        replays(folder / "modes", name, seed=n, mode=("full-application", "reapplication")[n])
        replays(folder / "other", name, seed=n, blocks=60 + n)
    (folder / "forecast").symlink_to(forecast[0])
    return folder


@pytest.mark.parametrize(
    ("named", "settings", "said"),
    [
        (["one"], [], "runs of one build only, 'old'. Name a folder with runs of two"),
        (
            ["three"],
            [],
            r"runs of 3 builds: new, newer, old. Name two of them, the baseline first, as `slotmark forecast \S*three/new \S*three/newer`",
        ),
        (["three/old", "three/new", "three/newer"], [], "3 sides are named"),
        (["few"], [], "2 processes on a side don't show how much processes differ"),
        (["modes"], [], "so they did different work. Replay both builds that way"),
        (["forecast/base", "forecast/changed"], [], "a run of bench 'prediction'"),
        (["three/old", "three/new"], ["run.slots=100"], "no block to analyse"),
    ],
)
def test_what_cannot_be_forecast_is_refused(
    named: list[str], settings: list[str], said: str, wrong: Path, small: Path, tmp_path: Path
) -> None:
    with pytest.raises(SlotmarkError, match=said) as refused:
        forecast_here([wrong / name for name in named], small, tmp_path / "out", settings)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["other"], "did different work: blocks is 60 and 61"),
        (["nowhere"], "nowhere: no such run folder"),
        (["three", "--profile", "value-only-10"], "value-only-10: no such profile. Did you mean"),
        (["three", "--set", "utxo_entries=3"], "not in the model"),
        (["three", "--seeds", "1"], "--seeds"),
        (["three", "-o", "forecast"], "base: already there"),
    ],
)
def test_wrong_arguments_get_one_line(arguments: list[str], said: str, wrong: Path, small: Path) -> None:
    given = [] if "--profile" in arguments else ["--profile", small]
    done = slotmark("forecast", *arguments, *given, cwd=wrong)
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_a_manifest_whose_errors_are_not_as_written_is_refused(
    forecast: tuple[Path, str, dict], tmp_path: Path
) -> None:
    out, _, _ = forecast
    changed = tmp_path / "changed"
    changed.mkdir()
    (changed / "tables").symlink_to(out / "changed" / "tables")
    manifest = json.loads((out / "changed" / "run.json").read_text())
    manifest["parameters"]["replayed"]["errors"]["0.96 adoption"] = -1.0
    (changed / "run.json").write_text(json.dumps(manifest))
    with pytest.raises(RunError, match="the parameter 'replayed'"):
        compare([open_run(out / "base"), open_run(changed)])


def test_the_detail_has_an_error_for_every_metric(forecast: tuple[Path, str, dict]) -> None:
    out, _, _ = forecast
    found = compare([open_run(out / "base"), open_run(out / "changed")])
    (detail,) = (one for one in found.details if isinstance(one, Forecast))
    assert isinstance(detail, Forecast)
    assert [one.metric for one in detail.errors] == [metric.id for metric in catalogue("prediction").metrics]
