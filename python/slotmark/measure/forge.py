"""The program ``slotmark-forge``, which forges and checks chains and beds: how it is started, followed and stopped."""

import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import msgspec

from slotmark import errors
from slotmark.measure.process import how_ended
from slotmark.measure.shipped import built_program, option_words
from slotmark.options import Option
from slotmark.places import folder_of_option

Progress = Callable[[int, int], None]
"""Gets how much is done, and of how much; may raise to stop."""


class ChainRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A chain to forge; the texts of its options are those of `slotmark chain synth --help`, their names those of the program."""

    blocks: Annotated[int, Option("How many blocks.", least=1)]
    out: Annotated[Path, Option("The new folder.", "DIR", ("-o", "--out"), parse=folder_of_option)]
    workload: Annotated[
        str | None,
        Option(
            "value-only, plutus-loop, empty, preview-like, blocks of several of these by weight: mix:value-only=3,plutus-loop=1; "
            "plutus-loop-v2, ecdsa-loop, ecdsa-loop-v3, schnorr-loop, schnorr-loop-v3, ripemd-loop, bls-loop; expmod-loop, msm-loop (protocol version 11); mixed, voting, or shares of what transactions do: mixed:value=3,vote=1; or script."
        ),
    ] = None
    profile: Annotated[
        str | None,
        Option(
            "Instead of --workload: a shipped profile or a file, whose workload, largest block, budgets and protocol version the chain has.",
            "PROFILE",
        ),
    ] = None
    script: Annotated[
        Path | None,
        Option("For --workload script: the script, as a text envelope of cardano-cli (.plutus).", "FILE"),
    ] = None
    datum: Annotated[
        Path | None, Option("The script's datum: JSON of cardano-cli, or CBOR in hexadecimal.", "FILE")
    ] = None
    redeemer: Annotated[Path | None, Option("The script's redeemer, in the same form.", "FILE")] = None
    seed: Annotated[int, Option("Seed of all random numbers.", least=0)] = 1
    utxo: Annotated[
        int,
        Option("Unspent outputs in the genesis in addition to the 16384 that it always has.", least=0, most=16_000_000),
    ] = 0
    delegators: Annotated[
        int,
        Option(
            "Stake keys in the genesis in addition to the 16 that it always has; with any, there are rewards.",
            least=0,
            most=4_000_000,
        ),
    ] = 0
    security_parameter: Annotated[
        int,
        Option(
            "k: chunk files have 10k slots, epochs 200k. 432 as on preview, 2160 as on mainnet.",
            flags=("-k", "--security-parameter"),
            least=2,
            most=100_000,
        ),
    ] = 432
    protocol_version: Annotated[
        int | None,
        Option(
            "Major version of the protocol: 10, or 11 (van Rossem). By default the profile's, or 10.", least=10, most=11
        ),
    ] = None


class _Failed(msgspec.Struct, frozen=True):
    error: str
    message: str


class _Line(msgspec.Struct, frozen=True):
    progress: tuple[int, int] | None = None
    made: msgspec.Raw = msgspec.Raw()
    failed: _Failed | None = None


def forge(
    command: str, options: dict[str, object], *, first_line: bytes = b"", progress: Progress | None = None
) -> bytes:
    """Runs a command of the program to its end and returns what it made or found, as JSON.

    When ``progress`` raises, or this process ends in any way, the program removes what it has begun and ends.

    Args:
        command: Its name.
        options: Name to value; those that are None or False are left out.
        first_line: Of its standard input, for a command that reads one.
        progress: For a command that takes long.

    Raises:
        SlotmarkError: What the program names as wrong: ArgumentError, BedError, ChainError or SimulationError.
        TargetError: The program isn't built, or ended before it was done.
    """
    path = built_program("slotmark-forge", "the program that forges and checks")
    process = _started(path, [command, *option_words(options)])
    assert process.stdin is not None
    assert process.stdout is not None
    last = _Line()
    try:
        with suppress(BrokenPipeError):  # it has ended: what it wrote before has the reason, or else its exit code
            if first_line:
                process.stdin.write(first_line + b"\n")
                process.stdin.flush()
        for line in process.stdout:
            last = msgspec.json.decode(line, type=_Line)
            if last.progress and progress:
                progress(*last.progress)
                with suppress(BrokenPipeError):
                    process.stdin.write(b"\n")
                    process.stdin.flush()
    finally:
        process.stdout.close()  # first, so that it never waits for a reader
        with suppress(BrokenPipeError):
            process.stdin.close()
        code = process.wait()
    if last.failed:
        raise _exception(last.failed)
    if not bytes(last.made):
        raise errors.TargetError(
            f"{path}: {how_ended(code)} before `{command}` was done. Look for lines above this one, and whether memory was short."
        )
    return bytes(last.made)


def _started(path: Path, words: list[str]) -> subprocess.Popen[bytes]:
    """The running program. It is in a process group of its own: a Ctrl-C is this process's to pass on."""
    try:
        return subprocess.Popen(
            [path, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0,
            restore_signals=False,  # SIGXFSZ stays ignored: beyond a limit on file sizes a write fails, and what was begun is removed
        )
    except OSError as error:
        raise errors.TargetError(
            f"{path}: can't be started ({error.strerror}). Build it again with `make setup`."
        ) from error


def _exception(failed: _Failed) -> errors.SlotmarkError:
    kinds = (errors.ArgumentError, errors.BedError, errors.ChainError, errors.SimulationError)
    return {kind.__name__: kind for kind in kinds}[failed.error](failed.message)
