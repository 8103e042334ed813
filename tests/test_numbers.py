"""Numbers are formatted in one module, python/slotmark/numbers.py, and those of charts in report/charts/formats.py."""

import ast
import math
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

from slotmark.numbers import (
    brief,
    day,
    duration,
    fixed,
    gibibytes,
    independent,
    mebibytes,
    megabytes,
    number,
    p_value,
    percent,
    percent_change,
    plain,
    quantity,
    share,
    signed_quantity,
)

SOURCE = Path(__file__).resolve().parents[1] / "python" / "slotmark"

FREE = re.compile(r",|[<>^]\d+")
"""Forms that may be written anywhere: a whole number with thousands apart, and the width of a text."""

EXEMPT = {
    ("numbers.py", None): "the one module",
    ("published/*", None): "the forms of other people's tools are theirs",
    ("benches/cluster/simulating/forecast.py", ".9g"): "a setting of a profile",
    ("benches/cluster/live/validating.py", ".6f"): "a setting of a profile",
    ("benches/cluster/live/validating.py", ".4f"): "a setting of a profile",
    ("benches/cluster/simulating/settings.py", ".0f"): "a setting of a profile",
    ("benches/cluster/simulating/settings.py", ".6g"): "a setting of a profile",
    ("benches/cluster/simulating/predict.py", "03d"): "the name of a folder",
    ("texts.py", ".5g"): "a value of TOML",
    ("measure/session.py", "08x"): "the name of a session",
    ("metrics/steps.py", "d"): "a number in SQL",
    ("run/folder.py", "05"): "the name of a file",
    ("report/renderers/terminal.py", "{}"): "the width of a text",
    ("report/renderers/terminal.py", ">{}"): "the width of a text",
    ("report/renderers/terminal.py", "^{}"): "the width of a text",
}
"""The place, the form (None: any), and the reason."""


def forms(text: str) -> Iterator[tuple[int, str]]:
    """The line and the form of each number or text that a module formats by itself."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.FormattedValue(conversion=-1, format_spec=ast.JoinedStr(values)):
                yield node.lineno, "".join(str(one.value) if isinstance(one, ast.Constant) else "{}" for one in values)
            case ast.FormattedValue(value=ast.Call(func=ast.Name("round"), args=[_, _])):
                yield node.lineno, "round"
            case ast.FormattedValue(value=ast.BinOp(op=ast.RShift())):
                yield node.lineno, "a quotient as it is"
            case ast.Call(func=ast.Name("format"), args=[_, form]):
                yield node.lineno, ast.unparse(form)
            case ast.Call(func=ast.Attribute(ast.Constant(str(template)), "format" | "format_map")):
                yield from ((node.lineno, form) for form in re.findall(r":([^{}]+)\}", template))
            case ast.BinOp(ast.Constant(str(template)), ast.Mod()) if "%" in template:
                yield node.lineno, template


def exempt(place: str, form: str) -> tuple[str, str | None] | None:
    """The entry that exempts a form, if there is one."""
    return next((one for one in EXEMPT if fnmatch(place, one[0]) and one[1] in (None, form)), None)


def test_numbers_are_formatted_in_one_module() -> None:
    wrong, used = [], set()
    for module in sorted(SOURCE.rglob("*.py")):
        place = module.relative_to(SOURCE).as_posix()
        for line, form in forms(module.read_text(encoding="utf-8")):
            entry = exempt(place, form)
            used.add(entry)
            if entry is None and not FREE.fullmatch(form):
                wrong.append(f"{place}:{line}: {form}")
    assert not wrong, f"use a function of slotmark.numbers: {wrong}"
    assert used >= set(EXEMPT), f"exempt, but not there any more: {set(EXEMPT) - used}"


def formatted_in_sql(text: str) -> list[str]:
    """The functions by which SQL of a bench formats numbers."""
    return re.findall(r"\b(format|printf|to_char)\s*\(", text, re.IGNORECASE)


def test_sql_formats_no_number() -> None:
    files = [one for one in (SOURCE / "metrics").rglob("*") if one.suffix in (".sql", ".toml")]
    assert len(files) > 30
    assert not [one.name for one in files if formatted_in_sql(one.read_text(encoding="utf-8"))]
    assert formatted_in_sql("SELECT FORMAT('{:.3f} ms', most_ms)") == ["FORMAT"]


def test_charts_have_their_forms_from_one_table() -> None:
    charts = [one for one in (SOURCE / "report" / "charts").glob("*.py") if one.name != "formats.py"]
    given = [
        (module.name, keyword.value)
        for module in charts
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "format"
    ]
    assert len(given) > 20
    assert not [(name, ast.unparse(value)) for name, value in given if not ast.unparse(value).startswith("formats.")]


@pytest.mark.parametrize(
    ("planted", "form"),
    [
        ("f'{share:.1%}'", ".1%"),
        ("f'{a} of {size / 1e6:,.1f} MB'", ",.1f"),
        ("f'{value:.{digits}f}'", ".{}f"),
        ("f'{value:{form}}'", "{}"),
        ("f'{round(value, 2)} s'", "round"),
        ("f'{MOST >> 20} MiB'", "a quotient as it is"),
        ("format(value, '.3g')", "'.3g'"),
        ("'{:.3g} s'.format(value)", ".3g"),
        ("'%.3f s' % value", "%.3f s"),
    ],
)
def test_a_form_that_is_written_elsewhere_is_found(planted: str, form: str) -> None:
    assert [found for _, found in forms(f"text = {planted}")] == [form]
    assert not FREE.fullmatch(form)
    assert exempt("report/sections/cells.py", form) is None


@pytest.mark.parametrize("free", ["f'{blocks:,}'", "f'{name:<14}'", "f'{script!r:.60}'", "f'{name}'"])
def test_whole_numbers_and_texts_are_free(free: str) -> None:
    assert all(FREE.fullmatch(form) for _, form in forms(f"text = {free}"))


def test_every_form_has_its_digits() -> None:
    assert [brief(one) for one in (0, 5, 0.25, 12.34, 999.6, 1234.5)] == ["0", "5", "0.25", "12.3", "1,000", "1,234"]
    assert (brief(0.0456, 2), brief(1.23456, 4)) == ("0.046", "1.235")
    assert (fixed(1234.5), fixed(0.5, 2), fixed(1.25, 1, sign=True), fixed(-2, 1, sign=True)) == (
        "1,234",
        "0.50",
        "+1.2",
        "-2.0",
    )
    nothing = [
        brief(-0.0),
        fixed(-0.2),
        fixed(-0.0, 2),
        number(-1e-12),
        quantity(-0.0, "s"),
        signed_quantity(-0.0, "s"),
    ]
    assert nothing == ["0", "0", "0.00", "0.000000000", "0 ms", "0 ms"], "no sign"
    assert [quantity(math.nan, "s"), signed_quantity(math.inf, "s"), signed_quantity(2, "s")] == ["-", "-", "+2,000 ms"]
    assert [independent(*one) for one in ([3.42], [12.0, 5.0], [0.0753], [0.2, 0.2], [0.2, 8])] == [
        "as informative as 3.42 independent ones",
        "as informative as 12 and 5 independent ones",
        "less informative than 1 independent one",
        "less informative than 1 independent one",
        "as informative as less than 1 and 8 independent ones",
    ]
    assert [plain(one) for one in (50, 50.0, 0.05, 100 * 0.07, 20_000_000)] == ["50", "50", "0.05", "7", "20000000"]
    assert (megabytes(1_234_567_890), gibibytes(67.4e9), mebibytes(64 << 20)) == ("1,234.6 MB", "62.8 GiB", "64 MiB")
    assert [percent(one) for one in (0.02, 0.005, 0.123456, 12, 9.9996)] == [
        "2 %",
        "0.5 %",
        "12.3 %",
        "1,200 %",
        "1,000 %",
    ]


def test_units_and_signs_change_where_they_should() -> None:
    waits = (99.4, 100, 5_999, 6_000, 259_199, 259_200)
    assert [duration(one) for one in waits] == ["99 s", "2 min", "100 min", "1.7 h", "72.0 h", "3 days"]
    # 2026 begins 1,767,225,600 s after 1970.
    assert [day(1_767_225_600 * 10**9 + one) for one in (-1, 0)] == ["2025-12-31", "2026-01-01"]
    assert [signed_quantity(one, "s") for one in (0.012, 0.0, -0.0, -0.0005)] == ["+12 ms", "0 ms", "0 ms", "-0.5 ms"]
    assert [share(one) for one in ("0 %", "2%", "0.02", "99.9 %", "100 %", "1", "-1 %", "x")] == [
        *(0, 0.02, 0.02, pytest.approx(0.999)),
        *(None, None, None, None),
    ]
    assert [p_value(one) for one in (1e-16, 0.0312, 0.05, 1.0)] == ["< 1e-15", "0.031", "0.05", "1"]
    assert p_value(0.0312, bound=True) == "< 0.031"
    ratios = (1.0094, 1.0096, 1.456, 0.0, 1.00004, 10_001.0)
    assert [percent_change(one) for one in ratios] == ["+0.94", "+1.0", "+45.6", "-100", "0", "> +999,999"]
    assert [number(one) for one in (0, 0.012346, 12.346, 1234.4, 123_456.7, float("nan"))] == [
        *("0", "0.01235", "12.35", "1,234", "123,457", "-"),
    ]
