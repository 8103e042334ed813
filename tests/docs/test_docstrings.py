"""Documentation in code begins with a verb or a noun: what begins with "What", "Whether" or "Of" is the rest of a sentence that a reader has to think of."""

import ast
import re
import subprocess
from collections.abc import Iterator
from itertools import pairwise

from tests.conftest import REPO

HALF = re.compile(r"(What|Whether|How|Of|Where|Which)\b(?!-)")
COMMENT = re.compile(r"\s*//[/!] ?(.*)")


def in_python(text: str) -> Iterator[tuple[int, str]]:
    """The line and the text of each docstring: of modules, classes, functions, and of what is assigned above one."""
    for node in ast.walk(ast.parse(text)):
        body: list[ast.stmt] = getattr(node, "body", []) if isinstance(node, ast.Module | ast.stmt) else []
        documents = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
        first = [(None, body[0])] if body and isinstance(node, documents) else []
        for before, one in [*first, *pairwise(body)]:
            match one:
                case ast.Expr(ast.Constant(str(words))) if before is None or isinstance(
                    before, ast.Assign | ast.AnnAssign
                ):
                    yield one.lineno, words.strip()


def in_rust(text: str) -> Iterator[tuple[int, str]]:
    """The line and the text of the first line of each comment that documents something."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        found = COMMENT.match(line)
        if found and not inside:
            yield number, found[1]
        inside = found is not None


def halves(name: str, text: str) -> list[str]:
    """The places of documentation in a file that is half a sentence, each with its beginning."""
    documentation = in_python(text) if name.endswith(".py") else in_rust(text)
    return [f"{name}:{line}: {words[:60]}" for line, words in documentation if HALF.match(words)]


def test_documentation_in_code_begins_with_a_verb_or_a_noun() -> None:
    listed = subprocess.run(["git", "ls-files", "*.py", "*.rs"], cwd=REPO, capture_output=True, text=True, check=True)
    names = listed.stdout.split()
    assert len(names) > 500
    found = [half for name in names for half in halves(name, (REPO / name).read_text(encoding="utf-8"))]
    assert not found, f"begin with a verb ('Returns…') or a noun ('Rows of…'): {found}"


def test_half_a_sentence_is_found_wherever_it_documents_something() -> None:
    python = (
        '"""What a."""\n'
        "class A:\n"
        '    """How b."""\n'
        "    c = 1\n"
        '    """Of c."""\n'
        "    async def d(self):\n"
        '        """Whether d: none."""\n'
        '        print(f"What {self.c}")\n'
        "def e():\n"
        '    """What-if answers; of which "Which" is no beginning."""\n'
    )
    assert [one.split(":")[1] for one in halves("a.py", python)] == ["1", "3", "5", "7"]
    rust = "//! Where a.\n//! Of which.\n\n/// Which b,\n/// of what.\nfn b() {} // What\n/// Rows.\n/// What c.\n"
    assert [one.split(":")[1] for one in halves("b.rs", rust)] == ["1", "4"]
