"""docs/tables.md is a contract: it names every column of every table of a run, in the section of its bench."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from slotmark.benches.chainsync.tables import ANNOUNCEMENTS, INVOCATIONS, ROLLBACKS, WINDOWS
from slotmark.benches.cluster.simulating.predict import predict_change
from slotmark.benches.ledger.tables import BATCHES, BLOCKS, PROCESSES, STORE_PROCESS
from slotmark.run import Manifest, open_run
from tests.conftest import REPO

PAGE = (REPO / "docs" / "tables.md").read_text(encoding="utf-8")
TYPES = {"bool": "bool", "double": "float64"}
SMALL = ["run.slots=700", "genesis.epoch_slots=100", "network.hosts=4", "network.pools=4"]


def section(bench: str) -> str:
    (found,) = re.findall(rf"^## {bench}\n(.*?)(?=^## )", PAGE, re.MULTILINE | re.DOTALL)
    return found


def paragraph(bench: str, table: str) -> str:
    """The description of a table."""
    (found,) = re.findall(rf"^\*\*{table}\*\*:(.*?)(?=^\*\*\w+\*\*:|\Z)", section(bench), re.MULTILINE | re.DOTALL)
    return found


def rows(bench: str, table: str) -> dict[str, str]:
    """Columns and their types, of a table that is described in rows of column, type and meaning."""
    found: dict[str, str] = {}
    for line in paragraph(bench, table).splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and cells[0] not in ("column", "---"):
            assert cells[2], f"{table}.{cells[0]} has no meaning"
            found |= dict.fromkeys(cells[0].split(", "), cells[1])
    return found


def columns(schema: Iterable[pa.Field]) -> Mapping[str, str]:
    return {field.name: TYPES.get(str(field.type), str(field.type)) for field in schema}


def fields(kind: msgspec.inspect.Type) -> Iterator[str]:
    """The fields of a struct and of the structs inside it."""
    if isinstance(kind, msgspec.inspect.StructType):
        for field in kind.fields:
            yield field.encode_name
            yield from fields(field.type)
    for inside in (getattr(kind, "item_type", None), *getattr(kind, "types", ())):
        if inside is not None:
            yield from fields(inside)


def test_every_field_of_a_manifest_is_described() -> None:
    written = list(fields(msgspec.inspect.type_info(Manifest)))
    assert {"schema", "toolchain", "governor", "path", "subject"} <= set(written)
    assert not set(written) - set(re.findall(r"`(\w+)`", section("The manifest")))


@pytest.mark.parametrize(
    ("bench", "table", "schema"),
    [
        ("Chainsync", "invocations", INVOCATIONS),
        ("Chainsync", "windows", WINDOWS),
        ("Follow", "announcements", ANNOUNCEMENTS),
        ("Follow", "rollbacks", ROLLBACKS),
        ("Ledger", "blocks", BLOCKS),
        ("Ledger", "processes", PROCESSES),
        ("Stores", "batches", BATCHES),
        ("Stores", "execution", STORE_PROCESS),
    ],
)
def test_every_column_is_described_with_its_type(bench: str, table: str, schema: pa.Schema) -> None:
    assert rows(bench, table) == columns(schema)


def test_every_column_of_a_prediction_is_described_with_its_type(tmp_path: Path) -> None:
    profile = tmp_path / "small.toml"
    profile.write_text(
        'extends = "value-only-10.5"\n[run]\nslots = 700\n[genesis]\nepoch_slots = 100\n[network]\nhosts = 4\npools = 4\n',
        encoding="utf-8",
    )
    (run,) = predict_change(profile, [], [1], tmp_path / "runs", lambda *_: None)
    assert list(run.manifest.tables) == ["seeds"]
    assert rows("Prediction", "seeds") == columns(run.table("seeds").schema)


def test_every_table_of_a_cluster_is_described(command: Callable[..., object], tmp_path: Path) -> None:
    arguments = [part for setting in SMALL for part in ("--set", setting)]
    command("simulate", "value-only-10.5", *arguments, "--direct", "-o", tmp_path / "run")
    run = open_run(tmp_path / "run")
    tables = [name for name in run.manifest.tables if not name.startswith("truth")]
    assert len(tables) > 5
    for table in tables:
        named = set(re.findall(r"\w+", paragraph("Cluster", table)))
        assert not [name for name in run.table(table).column_names if name not in named], table
