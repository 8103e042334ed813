"""Results as JSON, for machines. docs/report-json.md describes it."""

import msgspec

SCHEMA = 3
"""The version of the layout."""


def json(result: msgspec.Struct) -> bytes:
    """The whole result, unrounded: of a comparison every sample, interval, p-value, verdict, warning and manifest."""
    return msgspec.json.format(msgspec.json.encode({"schema": SCHEMA, **msgspec.to_builtins(result)}), indent=1) + b"\n"
