"""Settings laid over a profile: the parameters that they set, and those that move with them."""

from collections.abc import Iterable, Sequence
from typing import Any

from slotmark.benches.cluster.simulating.simulate import OFFERED
from slotmark.benches.cluster.sweep import amount

LOAD = ("workload.tps", "workload.refill_tps", "workload.tx_count", "genesis.max_block_body_size")
"""Parameters that move with the transactions that fill a block, unless they are set: blocks are then full as often as before."""


def set_by(setting: str, names: Iterable[str]) -> list[str]:
    """The full names of the parameters that ``key=value`` sets, whether to another value or not; none for those of a list's entries."""
    key = _key_of(setting)
    return [name for name in names if _is_named(name, key)]


def _key_of(setting: str) -> str:
    return setting.partition("=")[0].rstrip("* ").strip()


def _is_named(name: str, key: str) -> bool:
    """Returns whether a key is the full name of a parameter, or the end of it."""
    return name == key or name.endswith(f".{key}")


def moved_with(was: dict[str, Any], now: dict[str, Any], settings: Sequence[str]) -> tuple[str, ...]:
    """Settings for `LOAD`, where `settings` change what fills a block: none for what they name themselves.

    Args:
        was: The profile's parameters by their full names.
        now: The same with the settings.
        settings: ``key=value`` each.
    """
    share = _full_block_bytes(now) / _full_block_bytes(was)
    transactions = _block_transactions(now) / _block_transactions(was)
    keys = [_key_of(setting) for setting in settings]
    in_all = transactions
    if any(key in OFFERED for key in keys):
        keys.append("workload.tps")
        in_all = now["workload.tps"] / was["workload.tps"] if was["workload.tps"] else 1.0
    moved = []
    for name in LOAD:
        if any(_is_named(name, key) for key in keys):
            continue
        if isinstance(was[name], str):
            # A full block may have more bytes than its transactions.
            value = f"{max(amount(was[name]) * share, amount(now['workload.block_size'])):.0f}B"
            factor = share if amount(value) != amount(was[name]) else 1
        else:
            factor = in_all if name == "workload.tx_count" else transactions
            value = was[name] * factor
            value = f"{value:.0f}" if isinstance(was[name], int) else repr(float(f"{value:.6g}"))
        if factor != 1:
            moved.append(f"{name}={value}")
    return tuple(moved)


def _block_transactions(leaves: dict[str, Any]) -> int:
    """Transactions in a full block, as the simulator counts them."""
    size = amount(leaves["workload.tx_size"])
    return max(1, int(amount(leaves["workload.block_size"]) // size))


def _full_block_bytes(leaves: dict[str, Any]) -> float:
    return _block_transactions(leaves) * amount(leaves["workload.tx_size"])
