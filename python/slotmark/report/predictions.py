"""From the predictions of a simulated cluster to a document."""

from typing import Any

from slotmark.benches.cluster.predict import (
    ANSWER,
    CONFIDENCE,
    MAIN_ROWS,
    ROWS,
    Estimate,
    Prediction,
    Scenario,
    SweptPrediction,
)
from slotmark.numbers import percent
from slotmark.report.charts import COLOURS, DASHES, LINES, drawn
from slotmark.report.document import Block, Cell, Column, Document, Figure, Paragraph, Section, Table

CHARTS = {
    "Adoption": tuple(metric for metric in MAIN_ROWS if metric.endswith("adoption")),
    "On the way": tuple(metric for metric in MAIN_ROWS if not metric.endswith("adoption")),
}
"""Title and rows of each chart of a sweep."""


def prediction_document(prediction: Prediction) -> Document:
    """What a profile predicts, beside the unchanged profile where something was set; durations in ms."""
    scenario, unchanged = prediction.scenario, prediction.unchanged
    several = len(prediction.seeds) > 1
    error = " ±" if several else ""
    titles = [f"predicted{error}"]
    if unchanged is not None:
        bounds = f" [{percent(CONFIDENCE)}]" if several else ""
        titles = [f"unchanged{error}", f"changed{error}", f"difference{bounds}"]
    rows = []
    for metric in ROWS:
        cells = [Cell(metric)]
        cells += [Cell(_estimate(side.rows[metric])) for side in (unchanged, scenario) if side is not None]
        if unchanged is not None:
            cells.append(Cell(_difference(prediction.differences[metric])))
        rows.append(cells)
    counted = [f"{scenario.blocks:,} blocks{' with the change' if unchanged else ''}"]
    if unchanged is not None:
        counted.append(f"{unchanged.blocks:,} without")
    notes = [f"Analysed: {', '.join(counted)}. {_seeds(prediction.seeds)}", *_moved([scenario])]
    if several:
        notes.append("± is one standard error over seeds.")
    if unchanged is not None:
        bounds = f", in brackets their {percent(CONFIDENCE)} interval" if several else ""
        notes.append(f"The same seeds on both sides: differences are paired by seed{bounds}.")
    changes = ", ".join(scenario.settings)
    return Document(
        f"{prediction.profile} with {changes}" if changes else prediction.profile,
        prediction.description,
        [
            Section("Answer", [Paragraph(_answer(prediction))], brief=True),
            Section(
                "Prediction",
                [Table("Means, ms", [Column("", "left"), *(Column(title) for title in titles)], rows, notes)],
                brief=True,
            ),
            Section("Method", [Paragraph(_METHOD)]),
        ],
    )


def sweep_document(swept: SweptPrediction) -> Document:
    """What a profile predicts over a range of one parameter: a row a value, with charts; durations in ms."""
    several = len(swept.seeds) > 1
    written = [f"{step.value:.12g}{swept.unit}" for step in swept.steps]
    columns = [Column(""), *(Column(_short(metric)) for metric in MAIN_ROWS), Column("blocks", detail=True)]
    rows = [
        [
            Cell(value),
            *(Cell(_ms(step.scenario.rows[metric].mean)) for metric in MAIN_ROWS),
            Cell(f"{step.scenario.blocks:,}"),
        ]
        for value, step in zip(written, swept.steps, strict=True)
    ]
    scenarios = [step.scenario for step in swept.steps]
    notes = [
        f"{_seeds(swept.seeds)} The profile has {swept.own}.",
        *_moved(scenarios),
    ]
    blocks: list[Block] = [Table(f"Means in ms by {swept.parameter}", columns, rows, notes)]
    if several:
        errors = [
            [Cell(value), *(Cell(_ms(step.scenario.rows[metric].standard_error or 0.0)) for metric in MAIN_ROWS)]
            for value, step in zip(written, swept.steps, strict=True)
        ]
        blocks.append(Table(f"Standard errors over seeds in ms by {swept.parameter}", columns[:-1], errors, wide=True))
        notes.append(f"The largest standard error over seeds is {_ms(_largest_error(scenarios))} ms.")
    settings = f", with {', '.join(swept.settings)}" if swept.settings else ""
    band = " Shaded: from the lowest to the highest seed." if several else ""
    return Document(
        f"{swept.profile}: {swept.parameter} from {written[0]} to {written[-1]}",
        f"{swept.description}{settings}",
        [
            Section("Prediction", blocks, brief=True),
            Section(
                "Charts",
                [
                    Figure(
                        f"{title} by {swept.parameter}",
                        f"{', '.join(metrics)}: means over {len(swept.seeds)} seeds.{band}",
                        _chart(swept, metrics),
                    )
                    for title, metrics in CHARTS.items()
                ],
            ),
            Section("Method", [Paragraph(_METHOD)]),
        ],
    )


_METHOD = (
    "Simulated, not measured: docs/simulator.md says how the model was fitted, how far it is from published results, and what it leaves "
    "out. Each seed is one simulation of the whole run, and the same seed draws the same slot leaders and the same luck for every "
    "variant. Metrics are defined as in the published reports: means over the analysed blocks, or over blocks and peers; an "
    "adoption centile counts from the start of the block's slot. Standard errors and intervals (Student's t) are over seeds: they tell "
    "the simulation's own noise, not how far the model is from a real cluster. Nothing else changes than what is set, "
    "and what is said to move along: larger blocks take longer to transfer, but the stages of forging and adoption stay as the profile "
    "has them unless they are set too."
)


def _answer(prediction: Prediction) -> str:
    share = percent(float(ANSWER.removesuffix(" adoption")))
    after = _ms(prediction.scenario.rows[ANSWER].mean)
    said = f"{share} of the hosts have adopted a block {after} ms after the start of its slot"
    if prediction.unchanged is None:
        return f"{said}."
    difference = prediction.differences[ANSWER]
    ends = difference.interval()
    than = "later" if difference.mean >= 0 else "earlier"
    bounds = f"; {percent(CONFIDENCE)} interval {_ms(ends[0])} to {_ms(ends[1])} ms" if ends else ""
    return f"{said}: {_ms(abs(difference.mean))} ms {than} than with the profile unchanged (difference {_ms(difference.mean, sign=True)} ms{bounds})."


def _estimate(estimate: Estimate) -> str:
    """A mean with its standard error, in ms."""
    error = "" if estimate.standard_error is None else f" ± {_ms(estimate.standard_error)}"
    return f"{_ms(estimate.mean)}{error}"


def _difference(difference: Estimate) -> str:
    """A difference with its interval, in ms."""
    ends = difference.interval()
    return f"{_ms(difference.mean, sign=True)}" + (f" [{_ms(ends[0])}, {_ms(ends[1])}]" if ends else "")


def _ms(seconds: float, *, sign: bool = False) -> str:
    """A duration in ms, with two decimals; never a negative zero."""
    milliseconds = round(1e3 * seconds, 2) + 0.0
    return f"{milliseconds:+.2f}" if sign else f"{milliseconds:.2f}"


def _short(metric: str) -> str:
    """The head of a column: a terminal's line has room for no more."""
    return metric.replace("adoption", "adopted")


def _seeds(seeds: tuple[int, ...]) -> str:
    if len(seeds) == 1:
        return f"Seed {seeds[0]} alone: no errors can be told."
    return f"Seeds {seeds[0]} to {seeds[-1]}."


def _moved(scenarios: list[Scenario]) -> list[str]:
    """Says which parameters were moved along, if any."""
    names = list(dict.fromkeys(setting.partition("=")[0] for one in scenarios for setting in one.moved))
    if not names:
        return []
    shown = f" ({', '.join(scenarios[0].moved)})" if len(scenarios) == 1 else ""
    return [f"Moved along, so that blocks are full as often as before: {', '.join(names)}{shown}; --set fixes them."]


def _largest_error(scenarios: list[Scenario]) -> float:
    return max(scenario.rows[metric].standard_error or 0.0 for scenario in scenarios for metric in MAIN_ROWS)


def _chart(swept: SweptPrediction, metrics: tuple[str, ...]) -> dict[str, Any]:
    """A line a metric over the parameter, with the band over seeds; ``shown`` holds the metrics that the page shows."""
    points = [
        {
            "run": metric,
            "value": step.value,
            "mean": 1e3 * estimate.mean,
            "low": 1e3 * min(estimate.values),
            "high": 1e3 * max(estimate.values),
        }
        for metric in metrics
        for step in swept.steps
        for estimate in [step.scenario.rows[metric]]
    ]
    places = [MAIN_ROWS.index(metric) for metric in metrics]
    legend = {**LINES, "labelLimit": 260, "columnPadding": 28}
    domain = {"field": "run", "type": "nominal", "sort": list(metrics), "title": None}
    colour = {
        **domain,
        "legend": legend,
        "scale": {"domain": list(metrics), "range": [COLOURS[place] for place in places]},
    }
    dash = {
        **domain,
        "legend": legend,
        "scale": {"domain": list(metrics), "range": [DASHES[place] for place in places]},
    }
    unit = f", {swept.unit}" if swept.unit else ""
    scale: dict[str, Any] = {"type": "log"} if swept.geometric else {"zero": False}
    x = {
        "field": "value",
        "type": "quantitative",
        "title": f"{swept.parameter}{unit}",
        "scale": {**scale, "nice": False},
        "axis": {"values": [step.value for step in swept.steps], "format": ".6~r", "labelOverlap": True},
    }
    y = {"type": "quantitative", "title": "ms", "scale": {"zero": False}, "axis": {"tickCount": 6}}
    tooltip = [
        {"field": "run", "title": "metric"},
        {"field": "value", "title": swept.parameter + unit, "format": ".6~r"},
        *({"field": field, "title": f"{title}, ms", "format": ",.2f"} for field, title in (("mean", "mean"), ("low", "lowest"), ("high", "highest"))),
    ]  # fmt: skip
    return drawn(
        MAIN_ROWS,
        280,
        {
            "data": {"values": points},
            "mark": {"type": "area", "opacity": 0.2},
            "encoding": {"x": x, "y": {"field": "low", **y}, "y2": {"field": "high"}, "color": colour},
        },
        {
            "data": {"values": points},
            "mark": {"type": "line", "strokeWidth": 2, "point": {"size": 34}},
            "encoding": {
                "x": x,
                "y": {"field": "mean", **y},
                "color": colour,
                "strokeDash": dash,
                "tooltip": tooltip,
            },
        },
    )
