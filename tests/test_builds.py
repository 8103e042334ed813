"""Installed packages and built crates: each crate once, for the programs, their tests and Python's module, one after the other."""

import re
import subprocess

from tests.conftest import REPO

Features = dict[str, set[str]]


def features(*selected: str) -> Features:
    """The features that each crate of a selection is built with, by its name and version."""
    command = ["cargo", "tree", "--locked", "--prefix", "none", "--format", "{p}\t{f}", *selected]
    printed = subprocess.run(command, cwd=REPO, check=True, capture_output=True, text=True).stdout
    found: Features = {}
    for line in printed.splitlines():
        crate, _, switched_on = line.removesuffix(" (*)").partition("\t")
        found.setdefault(crate, set()).update(switched_on.split(","))
    return found


def built_twice(first: Features, second: Features) -> Features:
    """Features that crates in both have in one of them only."""
    return {
        crate: first[crate] ^ second[crate] for crate in first.keys() & second.keys() if first[crate] != second[crate]
    }


def test_pythons_module_is_built_of_the_crates_that_the_programs_are_built_of() -> None:
    programs = features("--workspace", "--edges", "normal,build")
    module = features("--package", "slotmark-python", "--edges", "normal,build")
    assert len(module) > 100
    assert built_twice(programs, module) == {}, "switch them on in crates/python/Cargo.toml"


def test_tests_are_built_of_the_crates_that_the_programs_are_built_of() -> None:
    programs = features("--workspace", "--edges", "normal,build")
    tests = features("--workspace", "--edges", "normal,build,dev")
    assert len(tests) > len(programs)
    assert built_twice(programs, tests) == {}, "switch them on where the programs depend on them"


def test_pythons_module_needs_no_rules_of_the_ledger() -> None:
    rules = {"slotmark-ledger", "slotmark-praos", "slotmark-synth", "amaru-uplc"}

    def needed(package: str) -> set[str]:
        return {crate.split()[0] for crate in features("--package", package, "--edges", "normal,build")}

    assert needed("slotmark-forge") >= rules
    assert not needed("slotmark-python") & rules, (
        "make demo would build them: what needs them belongs into crates/forge"
    )


def test_what_slotmark_needs_is_pinned_for_its_tests_too_and_demos_wait_for_nothing_else() -> None:
    def pinned(file: str) -> set[str]:
        return set(re.findall(r"^[a-z0-9_.-]+==[^ ]+", (REPO / file).read_text(encoding="utf-8"), re.MULTILINE))

    needed, developed = pinned("requirements.lock"), pinned("requirements.dev.lock")
    assert needed < developed, "make lock"
    names = {pin.split("==")[0] for pin in developed - needed}
    assert names >= {"basedpyright", "hypothesis", "playwright", "polars", "pytest", "ruff", "statsmodels"}
