"""Different clients are ranked, and nothing about a release stands anywhere; versions of one client are decided."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from slotmark.compare import Policy, compare, policy_text
from slotmark.report import comparison_document
from slotmark.report.renderers.markdown import markdown
from slotmark.run import Run, open_run
from tests.conftest import slotmark
from tests.made_up_runs import write_run

SETTINGS = ("decode, sequential", "raw, sequential")
RELEASE = re.compile(r"\bSHIP\b|\bHOLD\b|\bRUN AGAIN\b|\brun again\b|\brelease\b")
RATES = [1000.0 + 2 * n for n in range(10)]
FASTER = {"slow": 1.0, "fast": 1.5, "middle": 1.2, "twin": 1.2005, "noisy": 1.19}
NOISE = {"noisy": 0.03}


def written(folder: Path, name: str, target: str, **more: object) -> Run:
    factor, noise = FASTER[name], NOISE.get(name, 0.001)
    own = [rate * factor * (1 + noise * ((7 * place + len(name)) % 5 - 2)) for place, rate in enumerate(RATES)]
    return write_run(folder / name, target, dict.fromkeys(SETTINGS, own), **more)  # pyright: ignore[reportArgumentType]


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    folder = tmp_path_factory.mktemp("clients")
    return {name: written(folder, name, name).path for name in FASTER}


def test_clients_are_ranked_without_any_word_about_a_release(clients: Mapping[str, Path], tmp_path: Path) -> None:
    done = slotmark("compare", clients["slow"], clients["fast"], clients["middle"], "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    line = done.stdout.splitlines()[-1]
    assert line == (
        "RANKING by Blocks per second, decode, sequential: 1 fast 1,514 blocks/s, 2 middle 1,211, 3 slow 1,009; "
        "1 more part in the tables"
    )
    printed = slotmark("compare", clients["slow"], clients["fast"], clients["middle"], "--json")
    as_data = json.loads(printed.stdout)
    assert as_data["decision"] is None
    assert as_data["ranking"]["line"] == line
    texts = [done.stdout, done.stderr, json.dumps(as_data["ranking"]), printed.stderr]
    for name in ("report.md", "report-short.md", "report.html"):
        text = (tmp_path / "out" / name).read_text()
        assert line in text
        texts.append(re.sub(r"(?s)<(script|style).*?</\1>", "", text))
    assert not [found for text in texts for found in RELEASE.findall(text)]
    short = (tmp_path / "out" / "report-short.md").read_text()
    table = short.split("**decode, sequential**\n\n")[1].split("\n\n")[0].splitlines()
    assert table[0] == (
        "| target | place | Blocks per second, blocks/s | 95 % interval | Share of the floor, % | Peak memory, MB | against the next |"
    )
    names_and_places = [row.split(" | ")[:3] for row in table[2:]]
    assert names_and_places == [["| fast", "1", "1,514"], ["| middle", "2", "1,211"], ["| slow", "3", "1,009"]]
    assert re.search(r"\+2[45]\.\d % \\\[", table[2])


def test_what_is_not_shown_has_a_range_of_places(clients: Mapping[str, Path], tmp_path: Path) -> None:
    """The twin is equal within the margin, the noisy one isn't shown to differ from either: neither pair has the baseline in it."""
    order = ("slow", "middle", "twin", "noisy", "fast")
    result = compare([open_run(clients[name]) for name in order])
    assert result.ranking is not None
    for part in result.ranking.parts:
        places = {order[one.side]: one.place for one in part.ranked}
        assert places == {"fast": "1", "middle": "2-4", "twin": "2-4", "noisy": "2-4", "slow": "5"}
        levels = [one.level for one in part.ranked]
        assert levels == sorted(levels, reverse=True)
        for one, after in zip(part.ranked, part.ranked[1:], strict=False):
            assert one.next is not None
            assert one.next.ratio is not None
            # Each is held against the one below it, whichever of them came first on the command line.
            assert one.next.ratio.estimate == pytest.approx(one.level / after.level, rel=0.03)
    done = slotmark("compare", *(clients[name] for name in order), "-o", tmp_path / "out")
    text = (tmp_path / "out" / "report.md").read_text()
    assert "equal within 2 %" in text
    assert "not distinguished" in text
    assert done.stdout.splitlines()[-1].startswith("RANKING")


def test_two_of_three_rates_that_differ_by_less_than_the_margin_are_equal(clients: Mapping[str, Path]) -> None:
    result = compare([open_run(clients[name]) for name in ("slow", "middle", "twin")])
    assert result.ranking is not None
    first, second, third = result.ranking.parts[0].ranked
    assert first.next is not None
    assert (first.next.verdict, first.place, second.place, third.place) == ("equivalent", "1-2", "1-2", "3")


def test_the_ranking_has_the_verdicts_of_the_tables(clients: Mapping[str, Path]) -> None:
    result = compare([open_run(clients[name]) for name in ("fast", "slow")])
    assert result.ranking is not None
    (row, *_) = result.rows
    (best, _) = result.ranking.parts[0].ranked
    assert row.differences[0] is not None
    assert best.next is not None
    assert (row.differences[0].verdict, best.next.verdict) == ("worse", "better")
    assert row.differences[0].p_adjusted == best.next.p_adjusted
    assert row.differences[0].ratio
    assert best.next.ratio
    assert best.next.ratio.low == pytest.approx(1 / row.differences[0].ratio.high)


def test_without_a_test_nothing_is_said_of_adjusted_p_values(clients: Mapping[str, Path]) -> None:
    result = compare([open_run(clients[name]) for name in ("fast", "slow")])
    assert "p-values are adjusted over all" in markdown(comparison_document(result))
    assert "p-values are adjusted over all" not in markdown(
        comparison_document(msgspec.structs.replace(result, tests=0))
    )


def test_versions_of_one_client_are_decided(tmp_path: Path) -> None:
    runs = [written(tmp_path, name, "client", version=version).path for name, version in (("fast", "1"), ("slow", "2"))]
    done = slotmark("compare", *runs, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("HOLD slow: worse in Blocks per second")
    as_data = json.loads((tmp_path / "out" / "report.json").read_text())
    assert as_data["ranking"] is None
    assert as_data["decision"]["answer"] == "hold"


@pytest.mark.parametrize("options", [("--policy", "policy.toml"), ("--fail-on", "worse")])
def test_a_policy_decides_about_clients_too(
    options: tuple[str, str], clients: Mapping[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "policy.toml").write_text(policy_text("chainsync"))
    done = slotmark("compare", clients["fast"], clients["slow"], *options, "-o", "out", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines()[-1].startswith("HOLD slow: ")
    assert json.loads((tmp_path / "out" / "report.json").read_text())["ranking"]["parts"]
    assert "## Ranking" in (tmp_path / "out" / "report.md").read_text()


def test_a_client_without_a_part_and_a_warning_are_named(tmp_path: Path) -> None:
    both = written(tmp_path, "fast", "fast", server_share=0.95)
    one = write_run(tmp_path / "slow", "slow", {SETTINGS[0]: RATES}, parameters={"pinned": False})
    done = slotmark("compare", both.path, one.path, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("RANKING by Blocks per second, decode, sequential: 1 fast")
    assert "; warnings: different" in done.stdout.splitlines()[-1]
    text = (tmp_path / "out" / "report.md").read_text()
    raw, note, *_ = text.split("**raw, sequential**\n\n")[1].split("\n\n")
    assert [row.split(" | ")[0] for row in raw.splitlines()[2:]] == ["| fast"]
    assert note == "Without this part: slow."


def test_a_part_that_the_baseline_lacks_is_compared_between_the_others_alone(
    clients: Mapping[str, Path], tmp_path: Path
) -> None:
    one = write_run(tmp_path / "one", "one", {SETTINGS[0]: RATES})
    result = compare([one, *(open_run(clients[name]) for name in ("slow", "fast"))])
    assert result.ranking is not None
    (of_part,) = [part for part in result.ranking.parts if part.part == SETTINGS[1]]
    assert of_part.ranked[0].next is not None
    text = markdown(comparison_document(result))
    assert "Not compared: one, from which differences are, has no such part; the ranking compares the others." in text
    for name in ("slow", "fast"):
        assert f"{name} has the setting '{SETTINGS[1]}', and one does not: they are not compared in it." in text


def test_of_two_sessions_without_a_part_in_common_no_sentence_says_otherwise(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path / name, name, {setting: RATES}, session=name)
        for name, setting in zip(("decoder", "reader"), SETTINGS, strict=True)
    ]
    done = slotmark("compare", *(run.path for run in runs), "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    line = "NO RANKING: nothing was compared, as no two targets have the same part of Blocks per second"
    assert done.stdout.splitlines()[-1] == line
    gated = slotmark("compare", *(run.path for run in runs), "--fail-on", "worse")
    last = "NO DECISION: no metric that was compared is decisive."
    assert (gated.returncode, gated.stdout.splitlines()[-1]) == (3, last), "a gate that sees nothing"
    assert last in gated.stderr
    text = (tmp_path / "out" / "report.md").read_text()
    assert "Not all runs were measured in one session" in text
    assert "the runs were measured in one session" not in text
    assert "Not compared: only decoder has this part." in text
    assert "Not compared: only reader has this part." in text


def test_medians_that_go_the_other_way_than_the_ratio_are_said_to(tmp_path: Path) -> None:
    """Rates at two levels: their typical ratio may be lower where the median is higher. It was "38.2 % lower (136,900 → 154,300 blocks/s)", and place 2 above place 1."""
    rates = {"usual": (136_000.0, 450_000.0), "other": (155_000.0, 100_000.0)}
    turns = [(7 * place) % 10 >= 6 for place in range(40)]  # four of ten at the other level
    for name, levels in rates.items():
        of_rounds = [levels[other] * (1 + 0.001 * (place % 7)) for place, other in enumerate(turns)]
        write_run(tmp_path / name, name, {"decode, sequential": of_rounds}, session=name, blocks=1_000)
    given = [open_run(tmp_path / name) for name in rates]
    text = markdown(comparison_document(compare(given, policy=Policy())))
    assert "% lower by its typical ratio, which decides, though its medians go the other way (136," in text
    assert text.count("medians go the other way than the typical ratio, which decides. Such samples") == 3
    ranking = compare(given).ranking
    assert ranking is not None
    assert ranking.line.startswith("RANKING by Blocks per second, decode, sequential: 1 usual 136,")
