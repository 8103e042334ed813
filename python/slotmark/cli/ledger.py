"""`slotmark ledger`: measure ledger operations, or import what db-analyser and beacon recorded."""

from pathlib import Path
from typing import Annotated

import typer

from slotmark.benches.ledger.request import ImportRequest, NoiseRequest, Request, StoresRequest
from slotmark.cli.console import print_table, progress, talk
from slotmark.cli.given import given
from slotmark.cli.groups import group
from slotmark.cli.requests import Asked, from_requests
from slotmark.cli.session import end_rounds, end_session, report_failures
from slotmark.errors import ArgumentError
from slotmark.options import Option, duration_s, memory_bytes

app = group("Ledger operations: measure them, or import what db-analyser and beacon recorded.")


@app.command(epilog="Example: slotmark ledger run --chain db/immutable --backend memory,lsm,lmdb --rounds 5 -o runs")
@from_requests
def run(
    context: typer.Context,
    matrix: Annotated[
        Path | None,
        Option(
            "A TOML file of targets and fragments of chains, in the place of options (docs/replay.md): slotmark ledger run matrix.toml",
            "[MATRIX]",
            argument=True,
        ),
    ] = None,
    *,
    asked: Asked[Request],
    again: Annotated[bool, Option("Of a matrix: measure what its store holds once more.")] = False,
    live: Annotated[
        Path | None,
        Option(
            "In the place of --chain, --genesis and --config: what a host of a live run left behind, as runs/live.logs/node-0.",
            "DIR",
            after="chain",
        ),
    ] = None,
) -> None:
    """Replay a chain with every target, round by round, each time in a fresh process, in an order drawn at random."""
    from slotmark.benches.ledger.bench import run as run_bench
    from slotmark.benches.ledger.live_chain import live_chain

    typed, chain = asked.values, {}
    if matrix is not None:
        _refuse_beside_a_matrix(context)
        _measure(matrix, typed.get("out"), again=again, resume=typed["resume"])
        return
    if live is not None:
        if typed.keys() & {"chain", "genesis", "config"}:
            raise ArgumentError("--live and --chain, --genesis or --config: --live replaces all three. Leave them out.")
        left = live_chain(live)
        chain = {"chain": left.chain, "genesis": left.genesis, "config": left.config}
        talk.remark(
            f"slotmark: {live}: its settled blocks are replayed; of its newest ones, at most {left.newest:,} are not settled."
        )
    if not {"chain", "out"} <= typed.keys() | chain:
        raise ArgumentError("give --chain DIR or --live DIR, and -o DIR; or the file of a matrix (docs/replay.md).")
    if again:
        raise ArgumentError("--again works with a matrix alone: without one nothing is measured twice.")
    request = asked(**chain)
    with progress("processes") as show:
        runs, failures = run_bench(request, lambda remark: talk.remark(f"slotmark: {remark}"), show)
    end_session(runs, runs, [failure.error for failure in failures], request.out)


OF_MATRICES = ("matrix", "out", "resume", "again")


def _refuse_beside_a_matrix(context: typer.Context) -> None:
    for name, option in given(context):
        if name not in OF_MATRICES:
            raise ArgumentError(
                f"{option} and a matrix: the matrix has it. Put it there; only -o, --resume and --again can be given with a matrix."
            )


def _measure(file: Path, out: Path | None, *, again: bool, resume: bool) -> None:
    import msgspec

    from slotmark.benches.ledger.matrix import measure
    from slotmark.benches.ledger.matrix_file import read_matrix
    from slotmark.cli.matrix_table import commands, matrix_table

    matrix = read_matrix(file)
    if out is not None:
        matrix = msgspec.structs.replace(matrix, store=str(out))
    timeout_s = duration_s(f"{file}: timeout", matrix.timeout)
    with progress("processes") as show:
        cells = measure(
            matrix,
            timeout_s,
            memory_bytes(f"{file}: memory_limit", matrix.memory_limit),
            again=again,
            resume=resume,
            on_remark=lambda remark: talk.remark(f"slotmark: {remark}"),
            on_step=show,
        )
    print_table(matrix_table(cells))
    for line in commands(cells):
        typer.echo(line)
    report_failures([f"{cell.fragment}, {cell.target}: {cell.why}" for cell in cells if cell.how == "failed"])


@app.command(epilog="Example: slotmark ledger noise --chain db/immutable --rounds 10")
@from_requests
def noise(asked: NoiseRequest) -> None:
    """Measure this machine's noise: one target against itself, and the smallest change that 3, 5 and 10 processes can find."""
    import shutil

    from slotmark.benches.ledger.bench import run as run_bench
    from slotmark.cli.noise_table import noise_lines
    from slotmark.compare import compare
    from slotmark.compare.run_to_run.noise import noise_of, state_file, write_noise
    from slotmark.measure.session import FILE
    from slotmark.run import machine_facts

    if asked.out is not None and asked.out.exists():
        raise ArgumentError(f"{asked.out}: already there. Choose another -o or move it away.")
    file = asked.out or state_file("ledger", machine_facts())
    if file is None:
        raise ArgumentError("this machine has no name to keep its noise by. Name a file with -o.")
    runs_folder = file.with_name(f"{file.name}.runs")
    request = asked.session(runs_folder)
    try:
        with progress("processes") as show:
            runs, failures = run_bench(request, lambda remark: talk.remark(f"slotmark: {remark}"), show)
        if failures:
            raise failures[0].error
        comparison = compare(runs)
        found = noise_of(comparison, runs[0].manifest.target.name.removesuffix("-a"))
        write_noise(found, file)
    finally:
        if not (runs_folder / FILE).exists():
            shutil.rmtree(runs_folder, ignore_errors=True)
    talk.warnings(runs[0].manifest.warnings)
    for line in noise_lines(found, comparison):
        typer.echo(line)
    typer.echo(file)


@app.command("import", epilog="Example: slotmark ledger import base-1.csv base-2.csv --target base -o runs/base")
@from_requests
def import_(request: ImportRequest) -> None:
    """Import files of db-analyser --benchmark-ledger-ops or beacon, of any age, as a run to compare."""
    from slotmark.benches.ledger.importing import import_recordings
    from slotmark.benches.ledger.study import study_of

    study = study_of(request)
    runs = import_recordings(
        study.recordings,
        subtract_table_read=request.subtract_table_read,
        machine=study.machine,
        session=study.session,
    )
    for run in runs:
        work, processes = run.manifest.workload, run.manifest.parameters["processes"]
        talk.warnings(run.manifest.warnings)
        typer.echo(
            f"{run.place}: {processes} process{'es' if processes > 1 else ''}, {work['blocks']} blocks, "
            f"slots {work['first slot']} to {work['last slot']}"
        )


@app.command(epilog="Example: slotmark ledger stores --store lsm,lmdb --entries 1M --memory-limit 200MB -o runs")
@from_requests
def stores(request: StoresRequest) -> None:
    """Measure stores alone: batches of look-ups, inserts and deletes as the published benchmark of cardano-node's store has them."""
    from slotmark.benches.ledger.stores import run as run_stores

    with progress("processes") as show:
        runs, failures = run_stores(request, lambda remark: talk.remark(f"slotmark: {remark}"), show)
    end_rounds(runs, [failure.error for failure in failures], request.out)
