"""Requests to the bench: the options of `slotmark chainsync run` and `slotmark chainsync serve`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import msgspec

from slotmark.benches.chainsync.setting import MODES, Mode
from slotmark.errors import ArgumentError
from slotmark.options import Option, ResumeOption, SeedOption, duration_s, duration_us
from slotmark.warnings import SHOWING_ROUNDS

if TYPE_CHECKING:
    from slotmark import _core

BLOCKS = 10_000
"""Blocks that an invocation follows where nothing else is asked for."""


def _targets(_option: str, given: list[str]) -> list[str]:
    """The targets by name; from the first ``NAME=`` on, all is the command, which may have commas in it."""
    names: list[str] = []
    for text in given:
        before, equals, command = text.partition("=")
        listed = before.split(",")
        if equals:
            listed[-1] = f"{listed[-1].strip()}={command}"
        names.extend(name.strip() for name in listed if name.strip())
    return names


def _modes(option: str, text: str) -> list[Mode]:
    modes = [mode.strip() for mode in text.split(",")]
    for mode in modes:
        if mode not in MODES:
            raise ArgumentError(f"{option} {mode}: expected any of {', '.join(MODES)}, with commas between.")
    return cast("list[Mode]", list(dict.fromkeys(modes)))


def _depths(option: str, text: str) -> list[int]:
    try:
        depths = [int(depth) for depth in text.split(",")]
    except ValueError:
        depths = [0]
    if min(depths) < 1:
        raise ArgumentError(f"{option} {text}: expected whole numbers from 1 on, with commas between, as in 1,100.")
    return list(dict.fromkeys(depths))


def _at_tip_s(option: str, text: str) -> float:
    seconds = duration_s(option, text)
    if seconds <= 0:
        raise ArgumentError(f"{option}: expected a time above 0, as 10m.")
    return seconds


MagicOption = Annotated[int, Option("The network's magic number; preview is 2.", least=0)]
ReplyDelayOption = Annotated[
    float,
    Option(
        "Wait before each reply, as a slow node does: 250us.",
        "TIME",
        ("--reply-delay",),
        parse=duration_us,
        default="0us",
    ),
]


class Place(msgspec.Struct, frozen=True):
    """The place of the chain: a folder that our server replays, or a node.

    Attributes:
        chain: An ImmutableDB folder; the two others are None then.
        node_socket: A node's node-to-client socket.
        node: A node's node-to-node address, ``HOST:PORT``.
    """

    chain: Annotated[Path | None, Option("Replay this ImmutableDB folder.", "DIR")] = None
    node_socket: Annotated[Path | None, Option("Use this node's socket instead (raw, decode).", "PATH")] = None
    node: Annotated[str | None, Option("Use this node instead (headers, fetch).", "HOST:PORT")] = None


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A session that is asked for; the texts of its options are those of `slotmark chainsync run --help`.

    Attributes:
        targets: Which targets; empty for all that are built, without those that can do nothing of what was asked for.
        blocks: How many; None for :data:`BLOCKS`, or as many as the chain has where those are fewer.
        follow_s: How long to follow a node at its tip; 0 for rounds over a stretch of chain.
    """

    out: Annotated[Path, Option("The folder for the run folders, one per target.", "DIR", ("-o", "--out"))]
    place: Place
    targets: Annotated[
        Sequence[str],
        Option(
            "Built-in targets, and NAME='COMMAND' for your own as the last (docs/targets.md); again for more. By default all that are built. But for --follow, floor is measured beside them in every session.",
            "NAME,...",
            ("--target",),
            parse=_targets,
            typed=list[str],
        ),
    ] = ()
    modes: Annotated[
        Sequence[Mode],
        Option(f"Any of {', '.join(MODES)}.", "MODE,...", ("--mode",), parse=_modes, default="decode"),
    ]
    depths: Annotated[
        Sequence[int],
        Option("Requests in flight; 1 is sequential.", "N,...", ("--depth",), parse=_depths, default="1,100"),
    ]
    rounds: Annotated[int, Option("Counted rounds; a warm-up round comes first.", least=1)] = SHOWING_ROUNDS
    start: Annotated[str, Option("Follow the chain from here: SLOT.HASH, origin, or densest.", "POINT")] = "densest"
    blocks: Annotated[
        int | None, Option("Blocks per invocation; 10,000 by default, or all that a shorter chain has.", least=1)
    ] = None
    magic: MagicOption = 2
    seed: SeedOption = 1
    reply_delay_us: ReplyDelayOption
    progress_every: Annotated[int, Option("Blocks between two progress records.", least=1)] = 1_000
    timeout_s: Annotated[
        float, Option("Time limit of one invocation.", "TIME", ("--timeout",), parse=duration_s, default="5min")
    ]
    follow_s: Annotated[
        float,
        Option(
            "Follow the node at its tip for this time, with all targets at once: measures the time from its announcement of a block to the decoded block.",
            "TIME",
            ("--follow",),
            parse=_at_tip_s,
        ),
    ] = 0.0
    resume: ResumeOption = False
    pin: Annotated[bool, Option("Keep server and client on separate cores.", flags=("--pin/--no-pin",))] = True

    def parameters(self, window: "_core.Window | None") -> dict[str, Any]:
        """Parameters that decide the run, as they are recorded."""
        return {
            "modes": list(self.modes),
            "depths": list(self.depths),
            "rounds": self.rounds,
            "warm-up rounds": 1,
            "seed": self.seed,
            "start": window.start if window else self.start,
            "start asked for": self.start,
            "blocks": window.blocks if window else self.blocks or BLOCKS,
            "reply delay, us": self.reply_delay_us,
            "progress every": self.progress_every,
            "pinned": self.pin if window or not self.pin else "clients only",
        }


class ServeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A server that replays a chain folder; the texts of its options are those of `slotmark chainsync serve --help`, their names those of our program."""

    chain: Annotated[Path, Option("The ImmutableDB folder to serve.", "DIR")]
    socket: Annotated[Path | None, Option("Serve node-to-client on this unix socket.", "PATH")] = None
    listen: Annotated[str | None, Option("Serve node-to-node here; port 0 takes a free one.", "HOST:PORT")] = None
    magic: MagicOption = 2
    reply_delay_us: ReplyDelayOption
    look_us: Annotated[
        float,
        Option(
            "Poll for the next request for this time before sleeping; uses a core: 100us.",
            "TIME",
            ("--look",),
            parse=duration_us,
            default="0us",
        ),
    ]
    start: Annotated[
        str | None, Option("Prepare the messages of the blocks after this point before listening.", "POINT")
    ] = None
    blocks: Annotated[
        int | None,
        Option(
            "With --start: how many blocks to prepare, all that follow by default; the whole chain is served.", least=1
        ),
    ] = None
    pace_us: Annotated[
        float | None,
        Option(
            "Add a block at this interval, as a node at its tip does: from --start on, or from the first block.",
            "TIME",
            ("--pace",),
            parse=duration_us,
        ),
    ] = None
    roll_back_every: Annotated[
        int | None, Option("With --pace: roll back by two after every N blocks, and send these again.", "N", least=1)
    ] = None
    until_stdin_ends: Annotated[
        bool, Option("Stop when standard input ends; answer each line on it with the CPU time so far.")
    ] = False
    json: Annotated[bool, Option("Print JSON lines: where it listens, then one per connection that ended.")] = False
