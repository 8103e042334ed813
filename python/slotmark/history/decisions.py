"""Decisions of readers about the runs of a store, in a TOML file: changes that are accepted, runs that are bad, kinds of machines that are left out. docs/history.md explains it."""

import datetime
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated

import msgspec

from slotmark.cleaning import cleaned, one_line
from slotmark.errors import ArgumentError, StoreError, unwritten
from slotmark.history.store import Store
from slotmark.places import Url
from slotmark.texts import MOST_TOML_BYTES, dates_as_text, parsed_toml, toml_text, toml_value
from slotmark.versions import is_end, numbers_of
from slotmark.whole_files import written_whole

FILE = "decisions.toml"

LEAST_PREFIX = 8
"""Digits of a digest by which a run may be named."""

_Name = Annotated[str, msgspec.Meta(min_length=1)]


class Accepted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A change that readers accept.

    Attributes:
        change: Its id, as `slotmark history` prints it.
        reason: Why.
        who: Who decided it; empty where that isn't known.
        when: The day, as 2026-11-26.
        until: The day, or the version of the change's series, from which on it is open again; empty for never. A version without numbers counts by its text.
    """

    change: _Name
    reason: _Name
    who: str = ""
    when: str = ""
    until: str = ""

    def holds(self, today: datetime.date, versions: Collection[str]) -> bool:
        """Returns whether it is in force, on a day and with these versions there: none of them is that version or a later one."""
        if not self.until:
            return True
        try:
            return today < datetime.date.fromisoformat(self.until)
        except ValueError:
            end = numbers_of(self.until)
            later = [one for one in map(numbers_of, versions) if one is not None and end is not None and one >= end]
            return not later and self.until not in versions


class LeftOut(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run, or a kind of machine, that no history counts.

    Attributes:
        name: The run's digest or id, or the kind of machine in words.
        reason: Why.
        who: Who decided it; empty where that isn't known.
        when: The day.
    """

    name: _Name
    reason: _Name
    who: str = ""
    when: str = ""


class Decisions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of the file.

    Attributes:
        accepted: Changes that are accepted.
        bad_run: Runs that are left out.
        excluded_machine: Kinds of machines that are left out.
    """

    accepted: list[Accepted] = []
    bad_run: list[LeftOut] = []
    excluded_machine: list[LeftOut] = []

    def leaves_out(self, row: Mapping[str, object]) -> bool:
        """Returns whether no history counts a run, by its row of the index."""
        run, name = str(row["run"]), str(row["name"])
        bad = any(
            one.name in (run, name) or (len(one.name) >= LEAST_PREFIX and run.startswith(one.name))
            for one in self.bad_run
        )
        return bad or any(one.name == row["machine"] for one in self.excluded_machine)


def read_decisions(store: Store, file: Path | None = None) -> Decisions:
    """The decisions in a file; without one those in the store, which may have none.

    Raises:
        StoreError: The file is missing, or holds something else.
    """
    named = str(file or f"{store.place}/{FILE}")
    if file is None:
        content = store.files.read(FILE)
        if content is None:
            return Decisions()
        if len(content) > MOST_TOML_BYTES:
            raise StoreError(f"{named}: {len(content):,} bytes, which no file of decisions has. Correct it.")
        try:
            return _decisions(named, content.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise _wrong(named, error) from error
    try:
        return _decisions(named, toml_text(file))
    except OSError as error:
        raise StoreError(
            f"{named}: can't be read ({error.strerror}). Name a TOML file, as docs/history.md has one."
        ) from error
    except UnicodeDecodeError as error:
        raise _wrong(named, error) from error


def accept(store: Store, decided: Accepted, file: Path | None = None) -> Path:
    """Adds an accepted change to a file, without which to the store's, in a folder; returns the file.

    Raises:
        ArgumentError: The store is in a bucket, and no file was named.
        StoreError: The file can't be written, or holds something else.
    """
    if file is None:
        if isinstance(store.place, Url):
            raise ArgumentError(
                f"{store.place}/{FILE}: decisions are written to a file of this machine, where changes can be seen. Name one: --decisions FILE"
            )
        file = store.place / FILE
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(file) as [partial]:  # nobody else writes meanwhile
            before = toml_text(file) if file.exists() else ""
            if any(one.change == decided.change for one in _decisions(str(file), before).accepted):
                raise ArgumentError(f"{file}: change {decided.change} is accepted there already. Edit its lines there.")
            apart = "" if not before or before.endswith("\n\n") else "\n" if before.endswith("\n") else "\n\n"
            text = f"{before}{apart}[[accepted]]\n{_lines(decided)}"
            _decisions(str(file), text)
            partial.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(unwritten(file, error, "name another file by --decisions")) from error
    except UnicodeDecodeError as error:
        raise _wrong(str(file), error) from error
    return file


def _lines(decided: Accepted) -> str:
    found = [(name, getattr(decided, name)) for name in decided.__struct_fields__]
    return "".join(f"{name} = {toml_value(value)}\n" for name, value in found if value)


def _decisions(file: str, text: str) -> Decisions:
    try:
        found = msgspec.convert(cleaned(dates_as_text(parsed_toml(text))), Decisions)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise _wrong(file, error) from error
    for one in found.accepted:
        if one.until and not is_end(one.until, of_any_name=True):
            raise StoreError(
                f"{file}: change {one.change} is accepted until '{one.until}', which is neither a day as 2026-12-31 nor a version, so it would be accepted for good. "
                "Write one of them."
            )
    return found


def _wrong(file: str, error: Exception) -> StoreError:
    return StoreError(
        f"{file}: no decisions ({one_line(str(error))}). Expected tables as [[accepted]], [[bad_run]], [[excluded_machine]]: docs/history.md."
    )
