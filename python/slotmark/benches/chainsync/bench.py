"""The bench as a whole: from what was asked for to run folders."""

from collections.abc import Callable, Sequence

from slotmark import _core
from slotmark.benches.chainsync.proof import Proof
from slotmark.benches.chainsync.request import BLOCKS, Request
from slotmark.benches.chainsync.runs import SessionFacts, digest_fact, new_runs
from slotmark.benches.chainsync.server import Node, ReplayServer, Server
from slotmark.benches.chainsync.session import Failure, Round, Schedule, conduct, reference_proofs
from slotmark.benches.chainsync.setting import Mode, Setting
from slotmark.benches.chainsync.targets import FLOOR, REFERENCE, Program, built_ins, resolve
from slotmark.errors import ArgumentError, TargetError
from slotmark.measure import session
from slotmark.measure.content import in_words
from slotmark.measure.manifest import refuse_others, write_runs
from slotmark.measure.process import refuse_without_linux, split_cores
from slotmark.measure.session import OnStep
from slotmark.numbers import megabytes
from slotmark.run import Run, SourceFile, machine_facts, utc_now
from slotmark.run.folder import refuse_existing


def run(request: Request, on_remark: Callable[[str], None], on_step: OnStep) -> tuple[list[Run], list[Failure]]:
    """Measures, and writes a run folder per target.

    Args:
        request: The request to carry out.
        on_remark: Called with remarks for a person: settings that can't be used, the blocks that are followed.
        on_step: Called before and after each invocation.

    Returns:
        The runs, and the targets that failed in some setting, of which that setting wasn't kept.

    Raises:
        SlotmarkError: Something that the user can mend; nothing was written.
    """
    refuse_without_linux("chainsync run")
    programs = resolve(request.targets or default_targets())
    settings = [Setting(mode, depth) for mode in request.modes for depth in request.depths]
    floor = next((program for program in programs if program.name == FLOOR), None) or resolve([FLOOR])[0]
    programs = _able(programs, settings, bool(request.targets), on_remark)
    places = [request.out / name for name in dict.fromkeys([*(program.name for program in programs), FLOOR])]
    if not request.resume:
        for place in places:
            refuse_existing(place)

    machine, started = machine_facts(), utc_now()
    server_cores, client_cores = split_cores() if request.pin else (frozenset[int](), frozenset[int]())
    window = _window(request)
    if window is not None:
        on_remark(f"window: {window.blocks:,} blocks, {megabytes(window.bytes)}, after {window.start}")
    sources = _sources(request, window)
    taking_part = [*programs, floor]
    schedule = Schedule(
        programs=programs,
        floor=floor,
        settings=settings,
        rounds=request.rounds,
        seed=request.seed,
        magic=request.magic,
        start=window.start if window else request.start,
        blocks=window.blocks if window else request.blocks or BLOCKS,
        progress_every=request.progress_every,
        client_cores=client_cores,
        timeout_s=request.timeout_s,
    )
    with _server(request, schedule, server_cores) as server:
        proofs: dict[Mode, Proof] = (
            reference_proofs(schedule, server, resolve([REFERENCE])[0], request.modes)
            if window is None
            else {mode: _proof(str(request.place.chain), window, mode) for mode in request.modes}
        )
        workload = _workload(request, schedule, window, proofs)
        parameters = {**request.parameters(window), "server": server.label}
        asked = session.asked_for(
            parameters,
            [
                (one.name, f"{in_words(one.command)} {one.description.version} {one.description.commit}".strip())
                for one in taking_part
            ],
            {"the chain's file": sources},
        ) | {f"the chain's {name}": value for name, value in workload.items()}
        head = session.new_session(machine, started, asked)
        with session.open_session(
            request.out, head, Round, rounds=schedule.rounds, resume=request.resume, on_remark=on_remark
        ) as kept:
            refuse_others(places, kept.head.session)
            measured, failures = conduct(schedule, server, proofs, on_step, kept.rounds, kept.keep)
            facts = SessionFacts(
                head=kept.head,
                workload=workload,
                parameters=parameters,
                sources=sources,
                pinned=bool(client_cores),
                node="" if window else server.label,
                node_program=server.program if isinstance(server, Node) else None,
                rounds=request.rounds,
                reply_delay_us=request.reply_delay_us,
                server_peak_bytes=server.peak_bytes(),
                warnings=kept.warnings(),
            )
            descriptions = {program.name: program.description for program in taking_part}
            runs = write_runs(new_runs(request.out, facts, measured, failures, descriptions))
            kept.remove()
    return runs, failures


def default_targets() -> list[str]:
    """All targets that come with slotmark and are built, without the floor."""
    return [name for name, target in built_ins().items() if target.state == "ready" and name != FLOOR]


def _able(
    programs: Sequence[Program], settings: Sequence[Setting], named: bool, on_remark: Callable[[str], None]
) -> list[Program]:
    """The targets that can do any of what was asked for; remarks name what each leaves out.

    Raises:
        TargetError: One that was named can do nothing of it, or none can.
    """
    able: list[Program] = []
    for program in programs:
        can = [setting for setting in settings if program.can(setting)]
        if not can and named and program.name != FLOOR:
            offers = ", ".join(f"{mode} up to depth {depth}" for mode, depth in program.description.modes.items())
            raise TargetError(
                f"{program.name}: can do none of {'; '.join(map(str, settings))}. It can do {offers}. Change --mode or --depth."
            )
        for setting in settings:
            if setting not in can and program.name != FLOOR:
                on_remark(f"{program.name} can't do {setting}: left out")
        if can or program.name == FLOOR:
            able.append(program)
    if not able:
        raise TargetError(f"no target that is built can do {'; '.join(map(str, settings))}. Run `make setup`.")
    return able


def _window(request: Request) -> "_core.Window | None":
    if request.place.chain is None:
        if request.start == "densest":
            raise ArgumentError(
                "--start: the densest window is only known of a chain folder. Give a point of the node's chain, SLOT.HASH or origin."
            )
        return None
    chain, blocks = str(request.place.chain), request.blocks
    if blocks is None:
        start = "origin" if request.start == "densest" else request.start
        blocks = min(BLOCKS, _core.chain_window(chain, start, None).blocks)
    return _core.chain_window(chain, request.start, blocks)


def _sources(request: Request, window: "_core.Window | None") -> list[SourceFile]:
    if window is None:
        return []
    return [
        SourceFile(*source) for source in _core.chain_sources(str(request.place.chain), window.start, window.blocks)
    ]


def _server(request: Request, schedule: Schedule, cores: frozenset[int]) -> Server:
    if request.place.chain is None:
        return Node(request.place.node_socket, request.place.node)
    return ReplayServer(
        request.place.chain,
        magic=request.magic,
        start=schedule.start,
        blocks=schedule.blocks,
        reply_delay_us=request.reply_delay_us,
        cores=cores,
    )


def _proof(chain: str, window: "_core.Window", mode: Mode) -> Proof:
    def digests(every: int) -> list[tuple[int, str, str]]:
        return _core.digests(chain, window.start, window.blocks, mode, every)

    slot, _, hash = window.last.partition(".")
    return Proof(
        digests(window.blocks)[-1][1],
        lambda: [(digest, point) for _, digest, point in digests(1)],
        "our own decoder",
        (int(slot), hash),
        None if mode == "headers" else window.bytes,
    )


def _workload(
    request: Request, schedule: Schedule, window: "_core.Window | None", proofs: dict[Mode, Proof]
) -> dict[str, str]:
    facts = {"network magic": str(request.magic), "start point": schedule.start, "blocks": f"{schedule.blocks:,}"}
    if window is not None:
        facts |= {"first block": window.first, "last block": window.last, "bytes": f"{window.bytes:,}"}
    return facts | {digest_fact(mode): proof.digest for mode, proof in proofs.items()}
