"""The code that draws charts: bundled once and kept."""

from importlib.metadata import version
from pathlib import Path

import pytest

from slotmark.report.renderers.vega import vega


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    vega.cache_clear()
    return tmp_path / "slotmark" / f"vega-embed-{version('vl-convert-python')}.js"


def test_the_script_is_kept_whole_and_read_again(kept: Path) -> None:
    script = vega()
    assert "vegaEmbed" in script
    digest, _, content = kept.read_text(encoding="utf-8").partition("\n")
    assert content == script
    assert [one.name for one in kept.parent.iterdir()] == [kept.name]
    written = kept.stat().st_mtime_ns
    vega.cache_clear()
    assert vega() == script
    assert kept.stat().st_mtime_ns == written
    kept.write_text(f"{digest}\n{content[:-1]}", encoding="utf-8")
    vega.cache_clear()
    assert vega() == script, "what isn't what was written isn't used"
    assert kept.read_text(encoding="utf-8") == f"{digest}\n{content}"


def test_where_nothing_can_be_kept_it_is_bundled(kept: Path) -> None:
    kept.parent.write_text("no folder")
    assert "vegaEmbed" in vega()
    assert kept.parent.is_file()
