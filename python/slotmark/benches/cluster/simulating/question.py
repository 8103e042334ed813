"""Predictions that one call makes, or several that share the simulations and a last one that merges them."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from slotmark import engine as engines
from slotmark.benches.cluster.requests import Question
from slotmark.benches.cluster.simulating.predict import predict_change, predict_sweep
from slotmark.benches.cluster.sweep import parse_sweep
from slotmark.engine import Engine, Progress, ShardDone, gathered, local, opened, options_of
from slotmark.places import Place
from slotmark.run import Run
from slotmark.warnings import Warning

STEPS = 7
"""Values of a sweep, unless their number is asked for."""


def answered(
    question: Question, folder: Path, progress: Progress, engine: Engine = local, noted: Sequence[Warning] = ()
) -> list[Run]:
    """Answers a question.

    Args:
        question: The question.
        folder: Where the run folders are written.
        progress: Called with what is done and in all; may raise to stop.
        engine: Does the simulations.
        noted: Warnings about the engine, for the manifest of each run.

    Returns:
        A run per variant, as :func:`slotmark.benches.cluster.simulating.predict.predict_change` or ``predict_sweep`` returns them.

    Raises:
        SimulationError: A profile, setting or range that makes no sense, or no block to analyse.
    """
    numbers = range(1, question.seeds + 1)
    if question.sweep is None:
        return predict_change(
            question.profile, question.settings, numbers, folder, progress, question.against, engine, noted
        )
    swept = parse_sweep(question.sweep, question.spacing)
    return predict_sweep(
        question.profile, swept, question.steps or STEPS, question.settings, numbers, folder, progress, engine, noted
    )


def shard_done(question: Question, named: str, out: Place, progress: Progress) -> ShardDone:
    """Does a shard of the simulations that answer a question: :func:`slotmark.engine.shard_done`.

    Args:
        question: The question; the same for all shards.
        named: The shard, as ``3/40``.
        out: The folder that all shards share; simulations that are finished in it are not done again.
        progress: Called with slots done and in all; may raise to stop: what is finished by then stays.

    Raises:
        SimulationError: A profile, setting or range that makes no sense.
    """
    ask = partial(answered, question, Path(), progress)
    return engines.shard_done(named, out, question.work, question.options(), ask)


def merged(shards: Place, folder: Path, progress: Progress) -> list[Run]:
    """Answers the question whose simulations were shared, as a single call would.

    Args:
        shards: The folder that all shards share.
        folder: Where the run folders are written.
        progress: Called with pieces read and in all.

    Raises:
        PieceError: Pieces are missing or damaged, or of another version.
    """
    shared = opened(shards)
    question = options_of(shards, shared, Question)
    return answered(question, folder, progress, gathered(shards, shared, question.command))
