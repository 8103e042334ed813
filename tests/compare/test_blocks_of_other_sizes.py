"""A side whose blocks have fewer transactions is faster for that alone: it doesn't ship."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from slotmark.benches.cluster.simulating.direct import simulate_direct
from slotmark.benches.cluster.simulating.simulate import load_profile
from slotmark.compare import Comparison, compare
from slotmark.run import Run, RunWriter, Target
from slotmark.run.manifest import MIXED, ROUND
from slotmark.warnings import Warning


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Callable[[float, int], list[Run]]:
    """Three runs of a cluster that takes so many transactions per second, from a seed on."""
    folder = tmp_path_factory.mktemp("loads")

    def runs(taken: float, first: int) -> list[Run]:
        made = []
        for seed in (first + place for place in range(3)):
            profile = load_profile("value-only-5", (f"tps={taken}", "run.slots=900"))
            run, _ = simulate_direct(profile, seed, folder / f"{taken}-{seed}", lambda _done, _total: None)
            # The same was offered to all.
            workload = {**run.manifest.workload, "TPS": "8.0"}
            made.append(Run(run.path, msgspec.structs.replace(run.manifest, workload=workload)))
        return made

    return runs


def of_sizes(found: Comparison) -> list[Warning]:
    return [one for side in found.candidates for one in side.warnings if one.kind == "other_block_sizes"]


def test_a_side_that_takes_half_of_the_load_does_not_ship(simulated: Callable[[float, int], list[Run]]) -> None:
    """It was SHIP: 0.50 adoption was 14 % better."""
    usual, half = simulated(8, 1), simulated(4, 51)
    found = compare([usual, half])
    (warning,) = of_sizes(found)
    assert warning.text.startswith("Block size of analysed blocks differs from the baseline's by -4")
    assert "(the limit is 5 %)" in warning.text
    assert found.decision is not None
    assert found.decision.answer == "run again"
    assert [cause.name for cause in found.decision.causes] == ["other_block_sizes"]
    assert not of_sizes(compare([usual, simulated(8, 81)])), "sizes differ by chance"


def test_a_target_that_makes_smaller_blocks_in_mixed_rounds_does_not_ship(tmp_path: Path) -> None:
    """Both adopt the same blocks, but make their own: forging is of other blocks on each side."""
    rounds = [_mixed_round(tmp_path, number) for number in (1, 2, 3, 4)]
    found = compare([rounds])
    (warning,) = of_sizes(found)
    assert warning.text.startswith("Block size of analysed blocks differs from the baseline's by -49")
    assert found.decision is not None
    assert found.decision.answer == "run again"
    assert "other_block_sizes" in {cause.name for cause in found.decision.causes}


def _mixed_round(folder: Path, number: int) -> Run:
    """A simulated round in which blocks of hosts with the second target are half as large."""
    names = ["usual", "small"]
    profile = load_profile("value-only-5", ("tps=8.0", "run.slots=900"))
    run, _ = simulate_direct(profile, number, folder / f"whole-{number}", lambda _done, _total: None)
    hosts = sorted(run.table("hosts")["host"].to_pylist())
    ran = {host: names[(place + number) % 2] for place, host in enumerate(hosts)}
    with RunWriter(folder / f"mixed-{number}") as writer:
        for name in run.manifest.tables:
            table = run.table(name)
            if name == "block_events":
                sizes = [
                    size and (size // 2 if ran[host] == names[1] else size)
                    for host, size in zip(*(table[of].to_pylist() for of in ("host", "size_bytes")), strict=True)
                ]
                place = table.column_names.index("size_bytes")
                table = table.set_column(place, table.schema.field(place), pa.array(sizes, pa.int64()))
            writer.table(name, table)
        writer.table("host_nodes", pa.table({"host": list(ran), "name": list(ran.values())}))
        mixed = {ROUND: number, MIXED: names}
        return writer.finish(
            msgspec.structs.replace(
                run.manifest,
                id=f"mixed-{number}",
                session="mixed",
                target=Target(" and ".join(names), ""),
                parameters={**run.manifest.parameters, **mixed},
            )
        )
