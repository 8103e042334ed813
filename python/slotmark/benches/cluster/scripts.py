"""Scripts that the workload of a profile names, for those that really run it: which there are, and where the files of others are."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from slotmark.benches.cluster.simulating.simulate import profile_layers
from slotmark.errors import BedError

LOOP = "Loop"
"""The loop that counts down."""

LOOPS = (
    LOOP,
    "LoopV2",
    "EcdsaSecp256k1Loop",
    "EcdsaSecp256k1LoopV3",
    "SchnorrSecp256k1Loop",
    "SchnorrSecp256k1LoopV3",
    "Ripemd160",
    "HashOntoG2AndAdd",
    "ExpModIntegerLoop",
    "MultiScalarMulG1Loop",
)
"""The scripts that come with slotmark: each repeats one thing, as often as its budget allows (docs/live.md)."""

_SUFFIX = ".plutus"
_KEYS = ("script", "datum", "redeemer")

Files = tuple[str, str, str]
"""A script's text envelope, its datum, its redeemer."""


def script_files(profile: str | Path, merged: dict[str, Any]) -> Files | None:
    """The files of the script that transactions of a profile run; None where they run none, or a loop of slotmark.

    A name is that of a file beside the profile that states it, or, stated with ``--set``, in the current folder. A name with a path is
    refused: profiles come from strangers.

    Args:
        profile: As of ``load_profile``.
        merged: The whole profile, with all that it extends and all settings.

    Raises:
        BedError: There is no such script, or no datum or redeemer is stated.
    """
    workload = merged["workload"]
    script = workload["script"]
    stated = {key: workload.get(key, "") for key in _KEYS}
    if script in ("", *LOOPS):
        if extra := [key for key in _KEYS[1:] if stated[key]]:
            raise BedError(
                f"workload.{extra[0]} is {stated[extra[0]]!r:.60}: expected none without a script from a file. Name one in workload.script."
            )
        return None
    if not script.endswith(_SUFFIX):
        raise BedError(
            f"workload.script is {script!r:.60}: expected a loop ({', '.join(LOOPS)}), the name of a file that ends in {_SUFFIX}, or nothing. "
            "No other script can be run."
        )
    layers = [(path.parent, tomllib.loads(text).get("workload", {})) for path, text in profile_layers(profile)]
    return _file("script", stated, layers), _file("datum", stated, layers), _file("redeemer", stated, layers)


def _file(key: str, stated: dict[str, str], layers: Sequence[tuple[Path, dict[str, Any]]]) -> str:
    name = stated[key]
    if not name:
        raise BedError(
            f"workload.{key} is missing: expected a file's name, as workload.script names one. Give the script's {key} in JSON as "
            "cardano-cli has it, or as CBOR in hexadecimal digits."
        )
    if name != Path(name).name or not name.isprintable() or name in (".", ".."):
        raise BedError(
            f"workload.{key} is {name!r:.60}: expected the name of a file beside the profile, without a path. Put the file there."
        )
    folder = next((folder for folder, workload in reversed(layers) if workload.get(key) == name), Path())
    return str(folder / name)
