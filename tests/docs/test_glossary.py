"""docs/glossary.md has the words that the code has a fixed list of, each once, in order."""

import pytest

from slotmark.benches.chainsync.setting import MODES
from slotmark.compare.estimators import ESTIMATORS
from slotmark.verdict import Verdict
from tests.conftest import REPO

PAGE = (REPO / "docs" / "glossary.md").read_text(encoding="utf-8")
LISTS = PAGE.split("\n## ")[1:]


def rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.mark.parametrize("text", LISTS, ids=lambda text: text.splitlines()[0])
def test_each_word_is_there_once_in_order_with_a_meaning(text: str) -> None:
    words = [word.casefold() for word, _ in rows(text)]
    assert len(words) > 40
    assert words == sorted(set(words))
    assert all(meaning for _, meaning in rows(text))


def test_words_of_the_code_are_explained() -> None:
    for word in (*Verdict, *ESTIMATORS, *MODES, "cluster", "ledger", "chainsync", "prediction"):
        assert word in PAGE, word
