"""Profiles from published tables: the stages of a report's column on the network of the shipped profiles, and its rows beside what they predict."""

from collections.abc import Mapping, Sequence

import msgspec

from slotmark.benches.cluster.simulating.simulate import Tables, load_profile, predict
from slotmark.engine import Progress
from slotmark.errors import SimulationError

STAGES = {
    "Started forge loop iteration": "forging.started",
    "Acquired block context": "forging.block_context",
    "Acquired ledger state": "forging.ledger_state",
    "Acquired ledger view": "forging.ledger_view",
    "Leadership check duration": "forging.leadership",
    "Ledger ticking": "forging.ledger_tick",
    "Mempool snapshotting": "forging.mempool_snapshot",
    "Leadership to forged": "forging.forge",
    "Forged to announced": "forging.forged_to_announced",
    "Forged to self-adopted": "forging.self_adopt",
    "Notice to fetch request": "peer.notice_to_fetch",
    "Fetched to announced": "peer.fetched_to_announced",
    "Fetched to adopted": "peer.adopt",
}
"""The stage of a profile by the row that has its mean."""

BASES = {False: "value-only-10.5", True: "plutus-loop-10.5"}
"""The shipped profile that has what tables don't, by whether transactions run a script: network, spreads of stages, workload, filters."""

_BLOCK_TXS = {False: 160, True: 4}
"""Transactions in a full block, by the same."""

_RESTS_S = {False: 0.00016, True: 0.0}
"""For how long the block-fetch logic rests of Notice to fetch request, by the same; the stage is the row less it."""


def settings_of(rows: Mapping[str, float], *, scripts: bool) -> list[str]:
    """The settings that make the shipped profile that of a column.

    Args:
        rows: The column's values by the published name, times in s.
        scripts: Whether its transactions run a script.

    Raises:
        SimulationError: A stage's row or the block size is missing, or a value is none that a profile can have.
    """
    missing = [row for row in (*STAGES, "Block size") if row not in rows]
    if missing:
        raise SimulationError(f"the tables lack {', '.join(missing)}: a profile needs the mean of each stage.")
    means = {stage: rows[row] for row, stage in STAGES.items()}
    means["peer.notice_to_fetch"] -= _RESTS_S[scripts]
    size = round(rows["Block size"])
    return [
        # Clocks that are not quite alike, and cells that are cut off, make a mean of about 0 negative.
        *(f"{stage}.mean={max(0, round(mean * 1e9))}ns" for stage, mean in means.items()),
        f"workload.block_size={size}B",
        f"workload.tx_size={size // _BLOCK_TXS[scripts]}B",
        f"genesis.max_block_body_size={max(90_112, size)}B",
    ]


def predict_column(
    rows: Mapping[str, float],
    seeds: Sequence[int],
    progress: Progress,
    *,
    scripts: bool,
    settings: Sequence[str] = (),
) -> Tables:
    """Returns the prediction for a column, with its own rows as the published ones.

    Args:
        rows: As of :func:`settings_of`.
        seeds: One simulation each; the rows are averaged.
        progress: Called with slots done and in all; may raise to stop.
        scripts: As of :func:`settings_of`.
        settings: ``key=value`` each, laid over what the column makes.

    Raises:
        SimulationError: As of :func:`settings_of`, no seed, or a setting that makes no sense.
    """
    profile = load_profile(BASES[scripts], [*settings_of(rows, scripts=scripts), *settings])
    tables = predict(profile, seeds, progress)
    beside = tuple(msgspec.structs.replace(row, published=rows.get(row.metric)) for row in tables.rows)
    return msgspec.structs.replace(tables, rows=beside)
