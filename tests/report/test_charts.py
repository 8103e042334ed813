"""Charts are what Vega-Lite's schema allows: reports are drawn without that check, since it takes most of the time."""

import re
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pytest
import vl_convert
from jsonschema import ValidationError

from slotmark.benches.cluster.simulating.direct import simulate_direct
from slotmark.benches.cluster.simulating.predict import predict_sweep
from slotmark.benches.cluster.simulating.simulate import load_profile
from slotmark.benches.cluster.sweep import parse_sweep
from slotmark.benches.ledger.importing import Recording, import_recordings
from slotmark.compare import compare
from slotmark.compare.explain import explain
from slotmark.compare.results.growth import Curve, Level
from slotmark.metrics import catalogue
from slotmark.report import comparison_document, explanation_document
from slotmark.report.charts import CHARTS
from slotmark.report.document import CONDITIONAL, Document, Figure
from slotmark.report.renderers.markdown import markdown
from slotmark.report.renderers.pdf import CHART_CONFIG
from slotmark.run import Run
from tests.conftest import quietly

from ..ledger.recordings import AGE_2024, points, tab_separated, written
from ..made_up_runs import write_run


def drawn(document: Document) -> list[dict[str, Any]]:
    found = [block.draw() for section in document.sections for block in section.blocks if isinstance(block, Figure)]
    assert found
    return found


def allowed(specs: list[dict[str, Any]]) -> None:
    for spec in specs:
        alt.LayerChart.validate(spec)


def test_of_clients(tmp_path: Path) -> None:
    rates = [1000.0, 1010.0, 990.0, 1005.0, 995.0, 1002.0]
    runs = [
        write_run(tmp_path / name, name, settings={"decode, sequential": [rate * factor for rate in rates]})
        for name, factor in (("base", 1.0), ("slow", 0.7))
    ]
    allowed(drawn(comparison_document(compare(runs))))


def test_of_blocks(tmp_path: Path) -> None:
    def imported(name: str, ratio: float) -> Run:
        draws = np.random.default_rng([1, *name.encode()])
        files = []
        for process in range(3):
            noise = ratio * float(np.exp(draws.normal(0, 0.003)))
            noisy = [
                {
                    key: round(value * noise * 100) if key.startswith("mut") or key == "totalTime" else value
                    for key, value in point.items()
                }
                for point in points(122, seed=3, with_table_read=False)
            ]
            files.append(written(tmp_path, f"{name}-{process}.csv", tab_separated(noisy, AGE_2024)))
        return import_recordings([Recording(target=name, files=files, factors={}, out=tmp_path / name)])[0]

    allowed(drawn(comparison_document(compare([imported("base", 1.0), imported("slow", 1.1)]))))


def test_of_clusters_and_where_they_differ(tmp_path: Path) -> None:
    small = ("hosts=6", "pools=6", "run.slots=1000", "genesis.epoch_slots=250")
    profiles = [load_profile("value-only-10.5", (*small, *more)) for more in ((), ("ledger_tick=40ms",))]
    runs = [simulate_direct(profile, 3, tmp_path / str(place), quietly)[0] for place, profile in enumerate(profiles)]
    allowed(drawn(comparison_document(compare(runs, filters=[]))))
    allowed(drawn(explanation_document(explain(*runs, filters=[]))))


def test_what_takes_no_time_is_drawn_on_a_linear_axis(tmp_path: Path) -> None:
    """A log axis has no place for 0: such a report ended in a traceback."""
    short = ("hosts=3", "pools=3", "run.slots=300", "genesis.epoch_slots=300", "forging.leadership.mean=0ms")
    profile = load_profile("value-only-10.5", short)
    runs = [simulate_direct(profile, seed, tmp_path / str(seed), quietly)[0] for seed in (1, 2)]
    comparison = compare(runs, filters=[])
    specs = drawn(comparison_document(comparison))
    allowed(specs)
    (row,) = (row for row in comparison.rows if row.metric.id == "forge_leading")
    spec = CHARTS["cdf"](row, ["1", "2"], 0.995)
    (values,) = spec["datasets"].values()
    assert {point["value"] for point in values} == {0.0}
    assert spec["layer"][0]["encoding"]["x"]["scale"].get("type") != "log"


def test_of_a_sweep(tmp_path: Path) -> None:
    swept = parse_sweep("ledger_tick=10ms..60ms")
    short = ("hosts=10", "pools=10", "run.slots=1500", "genesis.epoch_slots=250")
    runs = predict_sweep("value-only-10.5", swept, 2, short, [1, 2], tmp_path, quietly)
    document = comparison_document(compare(runs))
    allowed(drawn(document))
    # Two seeds are few, but no row of a sweep has a verdict that a note would be about.
    assert CONDITIONAL not in markdown(document)


def test_an_axis_of_growth_has_no_prefix_below_one() -> None:
    metric = catalogue("stores")["batch_ms"]
    levels = [
        Level(size=size, processes=1, mean=ms, low=ms, high=ms) for size, ms in ((10_000, 0.03), (1_000_000, 6.0))
    ]
    curve = Curve(metric=metric, part="", target="memory", levels=levels)
    spec = CHARTS["growth"]([curve], "entries", ["memory"])
    allowed([spec])
    picture = vl_convert.vegalite_to_svg(spec, config=CHART_CONFIG, allowed_base_urls=[])
    labels = re.findall(r"<text[^>]*>([^<]*)</text>", picture)
    assert {"0.01", "0.1", "1", "10", "10k", "1M"} <= set(labels), "100m beside ms is read as 100 ms"
    assert not [label for label in labels if re.fullmatch(r"\d+[mµ]", label)]


def test_what_the_schema_does_not_allow_is_seen() -> None:
    with pytest.raises(ValidationError):
        allowed([{"layer": [{"mark": "no mark", "data": {"values": []}, "encoding": {}}]}])
