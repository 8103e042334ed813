"""Nodes that take turns on one bed: a session of rounds, each with a live run of every node, so that the day and the machine drop out."""

import hashlib
import os
import random
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from slotmark.benches.cluster.bed import read_bed
from slotmark.benches.cluster.live.cluster import Progress
from slotmark.benches.cluster.live.conducting import LiveRun, run_live, survey
from slotmark.benches.cluster.live.nodes import resolve_node
from slotmark.benches.cluster.live.placing import halves, hosts_as, hosts_file
from slotmark.benches.cluster.live.request import Request, Session, Turn
from slotmark.benches.cluster.live.sites.elsewhere import Reach
from slotmark.errors import LogError, TargetError
from slotmark.measure import session as sessions
from slotmark.measure.content import contents_of, in_words
from slotmark.options import option_of
from slotmark.places import folder_of
from slotmark.run import MachineFacts, utc_now
from slotmark.run.folder import refuse_existing
from slotmark.run.integrity import digest_of
from slotmark.run.manifest import MIXED
from slotmark.warnings import Warning
from slotmark.words import listed

_OF_MEASUREMENT = ("seconds", "on_death", "on_loss", "seed", "workload", "memory", "cpus")
"""Options that decide what a run measures; the others how long it waits for what comes before and after."""

_BESIDE_S = 30
"""About how much longer than its measurement a run takes, before one has shown it."""


class Made(msgspec.Struct, frozen=True):
    """A run of a round.

    Attributes:
        folder: Its name below the session's folder.
        seconds: How long it took as a whole; None where it was cut: others take longer.
    """

    folder: str
    seconds: float | None


Round = sessions.Round[str, Made]
"""A finished round. Its cases are names of nodes; one that failed is tried again in the next round, and its pair is not compared."""


def run_in_turns(
    session: Session,
    on_progress: Callable[[Progress], None],
    on_remark: Callable[[str], None],
    reach: Reach | None = None,
    noted: Sequence[Warning] = (),
) -> list[Round]:
    """Runs a session, and makes a run folder per node and round.

    A run that fails leaves its round without a pair, and the session goes on, unless rounds fail one after the other, or nothing of its
    node has ever run.

    Args:
        session: The session to run.
        on_progress: As of ``run_live``, with how far the session is.
        on_remark: As of ``run_live``.
        reach: As of ``run_live``; machines are reached anew for each run, so that one that was lost may be back.
        noted: As of ``run_live``.

    Raises:
        TargetError: There is no such node, its first run fails, or two rounds fail, one after the other.
        ArgumentError: There is nothing to resume, or something else was asked for.
        RunError: A run is there already, or the session's file is damaged.
        KeyboardInterrupt: A signal came; finished rounds are kept.
        SlotmarkError: As of ``run_live``, where more runs would not help.
    """
    out = folder_of(session.each.out)
    read_bed(session.each.bed)
    if not session.resume:
        for request in _all(session, 1):
            refuse_existing(request.out)
            refuse_existing(request.logs)
    network, machines = survey(runs_of(session, 1), on_remark, reach)
    asked = dict(_asked(session, network, machines, here=reach is None))
    head = sessions.new_session(next(iter(machines.values())), utc_now(), asked)

    def live(request: Request, show: Callable[[Progress], None]) -> LiveRun:
        return run_live(request, show, on_remark, reach=reach, noted=noted)

    with sessions.open_session(
        out, head, Round, rounds=session.rounds, resume=session.resume, on_remark=on_remark
    ) as kept:
        if session.resume:
            _remove(_all(session, len(kept.rounds) + 1), on_remark)
        part = kept.rounds[-1].part + 1 if kept.rounds else 0
        for number in range(len(kept.rounds) + 1, session.rounds + 1):
            before = kept.done[-1].failures if kept.done else []
            done = _round(session, number, part, kept.done, kept.head.session, live, on_progress, on_remark)
            if done.failures and before:
                name, words = done.failures[0]
                _remove(runs_of(session, number), on_remark)
                raise TargetError(
                    f"rounds {number - 1} and {number} failed, one after the other; the last: {name}: {words}"
                )
            kept.keep(done)
    kept.remove()
    return kept.done


def _asked(
    session: Session, network: str, machines: Mapping[str, MachineFacts], *, here: bool
) -> Iterator[tuple[str, str]]:
    """Yields a session's settings and machines but for the first host's, in words: the same for one that is resumed.

    The order of nodes is one: which hosts run which node of a mixed cluster follows from it. So is what the files have that a node's command
    names, where nodes run here: one that was built anew under its name is another.
    """
    each, file = session.each, hosts_file(session.each)
    yield "the list of --node", ", ".join(session.nodes)
    yield from (
        (f"node {name}", f"{_known(one.node) if here else one.node}{f' as {one.role}' if one.role else ''}")
        for name, one in session.nodes.items()
    )
    yield "the bed", f"{each.bed.resolve()}, {digest_of(each.bed / 'bed.json')}"
    yield "--rounds", str(session.rounds)
    yield "--mixed", str(session.mixed)
    yield "the network between hosts", network
    for field in msgspec.structs.fields(Request):
        if field.name in _OF_MEASUREMENT and (option := option_of(field.type)):
            value = getattr(each, field.name)
            yield option.flag(field.name), "the default" if value == field.default else str(value)
    if file.is_file():
        yield "the file of hosts", f"{file.resolve()}, {digest_of(file)}"
    words = {host: sessions.machine_in_words(facts) for host, facts in machines.items()}
    first = next(iter(words.values()))
    yield from ((f"the machine of {host}", one) for host, one in words.items() if one != first)


def _known(node: str) -> str:
    """A node in words, by its command, the files that this names, and all else that its recipe says."""
    recipe = resolve_node(node).recipe
    prepared = contents_of(recipe.prepare) if recipe.prepare else []
    digest = hashlib.sha256(msgspec.json.encode((recipe, prepared), order="deterministic")).hexdigest()
    return f"{in_words(recipe.command)}, by a recipe with the digest {digest[:12]}"


def runs_of(session: Session, number: int) -> list[Request]:
    """The runs of a round in their order: drawn by the seed, and turned round from one round to the next, as A B, B A; of a mixed session one."""
    if session.mixed:
        names, bed = list(session.nodes), read_bed(session.each.bed)
        role = next(iter(session.of_role), None)
        swapping = hosts_as(role, bed, session.each.bed) if role else bed.hosts
        halved = halves(swapping, names, session.each.seed, number)
        producer = next(iter(session.in_turns))
        mixed = msgspec.structs.replace(
            session.each,
            node="",
            nodes={name: one.node for name, one in session.nodes.items()},
            sides={host.name: halved.get(host.name, producer) for host in bed.hosts},
            staying=[host.name for host in bed.hosts if host.name not in halved],
            out=session.each.out / f"{MIXED}-{number}",
            seed=session.each.seed + number - 1,
            turn=Turn("", number, " and ".join(names)),
        )
        return [mixed]
    nodes = session.in_turns
    names = sorted(nodes)
    random.Random(session.each.seed).shuffle(names)
    return [
        msgspec.structs.replace(
            session.each,
            node=nodes[name],
            of_role=session.of_role,
            out=session.each.out / f"{name}-{number}",
            seed=session.each.seed + number - 1,
            turn=Turn("", number, name),
        )
        for name in (names if number % 2 else reversed(names))
    ]


def _all(session: Session, first: int) -> list[Request]:
    """The runs of a round and of all that follow."""
    return [request for number in range(first, session.rounds + 1) for request in runs_of(session, number)]


def _remove(requests: Sequence[Request], on_remark: Callable[[str], None]) -> None:
    """Removes what there is of runs of a round that isn't whole: its runs are made again, one after the other."""
    for path in [
        path for request in requests for path in (request.out, request.logs) if isinstance(path, Path) and path.exists()
    ]:
        on_remark(f"{path}: of a round that is not whole; removed")
        shutil.rmtree(path)


def _round(
    session: Session,
    number: int,
    part: int,
    before: Sequence[Round],
    name: str,
    live: Callable[[Request, Callable[[Progress], None]], LiveRun],
    on_progress: Callable[[Progress], None],
    on_remark: Callable[[str], None],
) -> Round:
    """One round; fewer runs where too few are left that could be compared."""
    measured: list[sessions.Measured[str, Made]] = []
    failures: list[tuple[str, str]] = []
    earlier = [one for of_round in before for one in of_round.measured]
    known = {one.case for one in earlier}
    requests = runs_of(session, number)
    for place, request in enumerate(requests):
        assert request.turn
        node, began, why = request.turn.name, time.monotonic(), ""
        at, load = utc_now(), os.getloadavg()[0]
        left = (session.rounds - number + 1) * len(requests) - place - 1

        def show(
            progress: Progress,
            words: str = f"round {number} of {session.rounds}, {node}",
            left: int = left,
            began: float = began,
        ) -> None:
            took = [one.result.seconds for one in (*earlier, *measured) if one.result.seconds is not None]
            typical = sum(took) / len(took) if took else session.each.seconds + _BESIDE_S
            this = max(typical - (time.monotonic() - began), progress.left_s or 0.0)
            on_progress(msgspec.structs.replace(progress, run=words, all_left_s=this + left * typical))

        try:
            made = live(
                msgspec.structs.replace(request, turn=msgspec.structs.replace(request.turn, session=name)), show
            )
        except (TargetError, LogError) as error:
            if node not in known:
                raise
            why = str(error)
        else:
            if made.output != [str(request.logs)]:
                on_remark(f"{request.out.name}: logs in {listed(made.output)}")
            if made.interrupted:
                raise KeyboardInterrupt
            why = made.cut
            result = Made(request.out.name, None if made.cut else time.monotonic() - began)
            order = (number - 1) * len(requests) + place
            measured.append(sessions.Measured(order=order, round=number, case=node, at=at, load=load, result=result))
        if why:
            failures.append((node, why))
            on_remark(f"round {number}: {node} failed, so its pair is not compared: {why}")
        if failures and len(requests) - len(failures) < 2:
            break  # of this round nothing is left that could be compared
    return Round(number=number, part=part, measured=measured, failures=failures)
