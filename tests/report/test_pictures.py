"""The processes that make pictures of charts for paper."""

import re
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import vl_convert

from slotmark.compare.results.attribution import Span, WorstSample
from slotmark.errors import PieceError
from slotmark.metrics.catalogue import catalogue
from slotmark.report.charts.stages import stages
from slotmark.report.renderers import pictures as module
from slotmark.report.renderers.pdf import CHART_CONFIG, SMALL_CHART_WIDTH
from slotmark.report.renderers.pictures import picture_makers
from tests.waiting import is_running, until


def chart(number: int) -> dict[str, Any]:
    """A chart whose picture no other has."""
    return {
        "data": {"values": [{"x": 1, "y": number}, {"x": 2, "y": "π</svg>\n"}]},
        "mark": "point",
        "encoding": {name: {"field": name, "type": "nominal"} for name in "xy"},
    }


def test_each_chart_gets_its_own_picture_whichever_process_makes_it() -> None:
    with picture_makers(2) as pictures:
        asked = [pictures.of(chart(number), CHART_CONFIG) for number in range(12)]
        made = [picture.result() for picture in asked]
    assert made == [
        vl_convert.vegalite_to_svg(chart(number), config=CHART_CONFIG, allowed_base_urls=[]) for number in range(12)
    ]
    assert len(set(made)) == 12


def test_a_process_that_ends_is_named_with_its_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "program.py"
    program.write_text("import sys\nprint('one line', file=sys.stderr)\nsys.exit('no room')\n", encoding="utf-8")
    monkeypatch.setattr(module, "_PROGRAM", str(program))
    with picture_makers(1) as pictures, pytest.raises(PieceError) as raised:
        pictures.of({"long": "x" * 1_000_000}, {}).result()
    assert str(raised.value) == (
        "The process that makes pictures of charts for report.pdf ended with 1 and said: no room. Make room in memory, and try again."
    )


def test_charts_that_were_not_made_are_left() -> None:
    with picture_makers(1) as pictures:
        asked = [pictures.of(chart(number), {}) for number in range(200)]
    assert asked[-1].cancelled()


def test_the_legend_of_a_chart_that_is_a_third_of_a_line_wide_is_whole() -> None:
    order = ["arrival to adopted", "fetch", "header on its way", "ledger tick", "notice to request", "mempool snapshot"]
    spans = [Span(place="node-10", stage=stage, begin=at, end=at + 1) for at, stage in enumerate(order)]
    metric = catalogue("cluster")["adopted_by_096"]
    worst = WorstSample(
        metric=metric, sample="block", place="host", run="base", key=1, about=[], value=6.0, spans=spans
    )
    spec = {**stages(worst, order, 1000.0, "ms"), "width": SMALL_CHART_WIDTH}
    with picture_makers(1) as pictures:
        picture = pictures.of(spec, CHART_CONFIG).result()
    frame = re.search(r'translate\((\d+),\d+\)"><g class="mark-group role-frame', picture)
    legend = re.search(r'role-legend".*?<g transform="translate\(0,.*?M0,0h([\d.]+)v', picture)
    assert frame is not None
    assert legend is not None
    assert int(frame.group(1)) + float(legend.group(1)) <= SMALL_CHART_WIDTH


ENDLESS = """
import sys, time
from slotmark.report.renderers import pictures
with pictures.picture_makers(2) as made:
    made.of({"mark": "point"}, {}).result()
    print(*(maker._process.pid for maker in made._free), flush=True)
    time.sleep(600)
"""


def test_processes_end_with_the_one_that_they_work_for_however_that_ends() -> None:
    with ExitStack() as stack:
        process = stack.enter_context(
            subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, text=True)
        )
        stack.callback(process.kill)
        assert process.stdout is not None
        makers = [int(pid) for pid in process.stdout.readline().split()]
        assert len(makers) == 2
        assert all(map(is_running, makers))
        process.kill()
        until(lambda: not any(map(is_running, makers)))
