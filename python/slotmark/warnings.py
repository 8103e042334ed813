"""Warnings about a measurement, as data.

Each kind of warning is one constructor here, with the sentence that a reader sees: what was seen, and what to do.
Manifests keep the warnings about one run, comparisons those about a set of runs; reports print both.
"""

from collections.abc import Mapping, Sequence
from math import isfinite

import msgspec

from slotmark.numbers import p_value
from slotmark.words import few, listed

_SHOWN = 5

ENOUGH_ROUNDS = 5
"""The fewest rounds with a verdict."""

TELLING_ROUNDS = 20
"""The number of rounds that mostly show whether their ratios resemble the ones before; with fewer, intervals are wide in case they do."""

ENOUGH_BLOCKS = 10
"""With fewer blocks at a node's tip no verdict is given."""

ENOUGH_RUNS = 3
"""With fewer runs on a side, verdicts are conditional on these runs; of processes of a build, there are none."""

KINDS = (
    "apart",
    "clocks_apart",
    "clocks_corrected",
    "clocks_moved",
    "clocks_unknown",
    "clusters",
    "coarse",
    "crowded",
    "cut_at_tip",
    "cut_short",
    "damaged_files",
    "different",
    "drifting_blocks",
    "drifting_rounds",
    "dropped_packets",
    "few_blocks",
    "few_blocks_at_tip",
    "few_rounds",
    "filters_left_out",
    "gc_inside",
    "lacking",
    "late_packets",
    "machine_loaded",
    "machine_shared",
    "machine_unknown",
    "missing_hosts",
    "missing_inputs",
    "mixed_cluster",
    "never_done",
    "no_latencies",
    "no_workload",
    "node_died",
    "node_killed",
    "not_awaited",
    "not_in_model",
    "not_interleaved",
    "not_pinned",
    "one_core",
    "one_process",
    "one_run_a_side",
    "other_node",
    "outliers",
    "printed_only",
    "processes_differ",
    "rejected_lines",
    "repeated_lines",
    "reply_delay",
    "resumed",
    "round_left_out",
    "runs_differ",
    "server_busy",
    "short_hashes",
    "silent_hosts",
    "stopped_early",
    "target_failed",
    "target_opened_protocols",
    "thin_quantiles",
    "time_backwards",
    "totals_at_odds",
    "traces_limited",
    "two_processes",
    "unknown_columns",
    "unknown_messages",
    "unknown_rows",
    "unmatched",
    "unread_logs",
    "unshared_blocks",
    "warmed_up",
    "workload_broke",
)
"""Every kind of warning that slotmark constructs. A catalogue can name more, which follow from what is analysed."""


STOPPING = (
    "clocks_apart",
    "clocks_moved",
    "damaged_files",
    "different",
    "drifting_rounds",
    "impossible_orders",
    "machine_shared",
    "no_blocks",
    "no_workload",
    "not_interleaved",
    "repeated_starts",
    "server_busy",
    "time_backwards",
)
"""Warnings after which figures may be of something else than the target: nothing ships on them."""


class Warning(msgspec.Struct, frozen=True, order=True):
    """One warning.

    Attributes:
        kind: A stable name for machines, as ``server_busy``.
        text: What was seen and what to do, in one or two sentences.
        subject: What it is about: a target, a setting, an invocation; empty for the whole run.
    """

    kind: str
    text: str
    subject: str = ""


def server_busy(subject: str, share: float, limit: float) -> Warning:
    """The server used so much of its core that it may have held the client back; both shares are of one core."""
    return Warning(
        "server_busy",
        f"The server used {share:.0%} of a core (median over rounds; the limit is {limit:.0%}): the figure may be the "
        "server's, not the client's. Read it beside the share of the floor.",
        subject,
    )


def target_failed(subject: str, why: str) -> Warning:
    """A target failed in a setting of its session."""
    return Warning("target_failed", f"The target failed and nothing of this setting was kept: {why}", subject)


def outliers(subject: str, rounds: Sequence[str]) -> Warning:
    """Invocations farther than three scaled MADs from the median of their setting."""
    which = ", ".join(rounds)
    plural = "s" if len(rounds) > 1 else ""
    return Warning(
        "outliers",
        f"Round{plural} {which} lie{'' if plural else 's'} more than 3 scaled MADs from the median rate. Kept in every figure; "
        "look for what else ran on the machine, or run more rounds.",
        subject,
    )


def few_rounds(rounds: int) -> Warning:
    """Too few rounds for any verdict."""
    return Warning(
        "few_rounds",
        f"{rounds} round{'s' if rounds != 1 else ''} can't tell a difference from noise: no verdict is given below "
        f"{ENOUGH_ROUNDS}. Run again with --rounds {TELLING_ROUNDS}.",
    )


def resumed(rounds: Sequence[int]) -> Warning:
    """A session that was cut after these rounds and went on later."""
    return Warning(
        "resumed",
        f"The session was cut after round {', '.join(map(str, rounds))} and resumed later: the machine may have been another before and "
        "after. Ratios are of one round each, so they stand; levels hold that difference.",
    )


def one_core() -> Warning:
    """Server and client share a core."""
    return Warning(
        "one_core",
        "The machine has one core to use: server and client took turns on it, so every figure holds both. "
        "Use a machine with two cores.",
    )


def other_node(node: str, program: str | None, spoken: Sequence[str]) -> Warning:
    """Clients followed a node that the session didn't start, of which the program may be known, and spoke versions of protocols with it."""
    behind = f" (program '{program}')" if program else ""
    return Warning(
        "other_node",
        f"The {node}{behind}, spoken with in {', '.join(spoken) or 'a version that no client reports'}, "
        "was not started by this session: its cores, its caches, what else it did and its share of the time were not controlled. "
        "Clients of one session had the same node; figures of another session or node are not comparable.",
    )


def not_pinned() -> Warning:
    """Server and client weren't kept on cores of their own."""
    return Warning(
        "not_pinned",
        "Server and client were not pinned to cores of their own (--no-pin): where the kernel put them is inside the figures.",
    )


def machine_loaded(load: float, cores: int) -> Warning:
    """Other work was running when the measurement began."""
    return Warning(
        "machine_loaded",
        f"The load average was {load:.2f} on {cores} cores before the measurement: something else was running. "
        "Stop it and run again.",
    )


def machine_shared(mean_us: float, worst_us: float, limit_us: float) -> Warning:
    """Returns the warning that processes on a live cluster's machine went on late after a timer, and so did its nodes; in us."""
    return Warning(
        "machine_shared",
        f"A process that a timer woke on this machine went on {mean_us / 1e3:,.2f} ms late in the mean, {worst_us / 1e3:,.0f} ms at the worst (the "
        f"limit is {limit_us / 1e3:g} ms): so does every step of a node, and times hold the machine's, not only the nodes'. End what else runs, run fewer hosts, or take a "
        "machine with more processors.",
    )


def node_died(host: str, words: str) -> Warning:
    """A node of a live cluster ended by itself."""
    return Warning(
        "node_died", f"The node ended by itself ({words}). What it should have done afterwards is missing.", host
    )


def node_killed(host: str, grace_s: float) -> Warning:
    """A node of a live cluster had to be killed at the end of the run."""
    return Warning(
        "node_killed",
        f"The node didn't end within {grace_s:g} s after the run and was killed: its log may lack its last lines.",
        host,
    )


def cut_short(measured_s: float, asked_s: float, why: str) -> Warning:
    """A live run that ended before its time."""
    return Warning(
        "cut_short",
        f"The run ended after {measured_s:,.0f} of {asked_s:,.0f} s ({why}): there are fewer blocks than were asked for.",
    )


def no_latencies() -> Warning:
    """A live cluster whose hosts reach each other at once."""
    return Warning(
        "no_latencies",
        "Hosts reached each other over loopback, without latencies: propagation times are not those of a network. Run with --network wan.",
    )


def filters_left_out(left_out: Sequence[str], first_slot: int, last_slot: int) -> Warning:
    """A run that ended before the slots that its profile would have analysed."""
    return Warning(
        "filters_left_out",
        f"The run ended before what the profile's {listed(left_out)} would have analysed; slots {first_slot:,} to {last_slot:,}, in which it was measured, are "
        "analysed instead. A cluster may act otherwise later, as when the ledger has grown: run longer to compare it with runs that were analysed from there.",
    )


def not_in_model(beside: str, parameters: Sequence[str]) -> Warning:
    """A simulated profile that differs from another in what the simulator doesn't model."""
    return Warning(
        "not_in_model",
        f"The profile differs from {beside} in {_some(parameters)}, which the simulator's model doesn't have: "
        "what that changes in a real cluster is not in these figures.",
    )


def no_workload() -> Warning:
    """A live cluster without submitted transactions."""
    return Warning(
        "no_workload",
        "No transactions were submitted: blocks are empty, and the workload that the profile names was not run. What depends on full blocks "
        "(fetching, validation, adoption) is not that of a cluster under load.",
    )


def workload_broke(words: str) -> Warning:
    """Returns the warning that the program that submits transactions to a live cluster didn't end as it should."""
    return Warning(
        "workload_broke",
        f"What submits transactions didn't end as it should ({words}): what became of them is known in part, or not at all.",
    )


def target_opened_protocols(host: str, protocols: Sequence[int]) -> Warning:
    """A node that began protocols of its own on the load's connection."""
    named = listed([str(protocol) for protocol in protocols])
    return Warning(
        "target_opened_protocols",
        f"{host} began mini-protocols of its own ({named}) on the connection of the load, though it was agreed that only the load begins any. They "
        "got no answer and the load went on; a node that waits for one may have been slowed by it.",
        host,
    )


def late_packets(median_us: float, p99_us: float) -> Warning:
    """The emulated network handed packets over late."""
    return Warning(
        "late_packets",
        f"The emulated network was late by {median_us:,.0f} us in the median and {p99_us:,.0f} us at the 99th centile: latencies were longer "
        "than planned. Run fewer hosts, or as root, which gives the router the highest priority.",
    )


def dropped_packets(dropped: int, carried: int) -> Warning:
    """The emulated network lost packets that it should have carried."""
    return Warning(
        "dropped_packets",
        f"The emulated network lost {dropped:,} packets that no plan asked for, and carried {carried:,}: TCP was slower than planned. Run fewer hosts.",
    )


def apart() -> Warning:
    """Two runs that weren't measured in one session."""
    return Warning(
        "apart",
        "Not measured in one session with the baseline: rounds can't be paired, and the machine's drift between the two "
        "sessions is inside the difference. Verdicts are conditional on these two sessions. Measure both in one `run`.",
    )


def different(what: str, baseline: str, candidate: str) -> Warning:
    """Two runs that differ in something which should be equal."""
    return Warning(
        "different",
        f"{what} differs: {baseline} for the baseline, {candidate} here. The difference may come from that.",
    )


def runs_differ(what: str, values: Sequence[str]) -> Warning:
    """Runs of one side that should be alike and aren't."""
    return Warning(
        "runs_differ", f"Its runs differ in {what}: {', '.join(values)}. Their spread holds that difference."
    )


def unmatched(what: str) -> Warning:
    """Something that only one of two runs has."""
    return Warning("unmatched", f"Only one of the two runs has {what}: it is not compared.")


def reply_delay(delay_us: float) -> Warning:
    """A reply delay was asked for, so that the node's share shows."""
    return Warning(
        "reply_delay",
        f"Every reply was held back by {delay_us:g} us to model a slow node: these figures say how much of the time is "
        "the node's, not how fast the client is.",
    )


def damaged_files(files: Sequence[str], unread_bytes: int) -> Warning:
    """Packed logs that can't be read to their ends; the bytes are packed ones, behind the damage."""
    shown = ", ".join(files[:_SHOWN]) + (" and others" if len(files) > _SHOWN else "")
    count = f"{len(files):,} packed logs are" if len(files) > 1 else "1 packed log is"
    return Warning(
        "damaged_files",
        f"{count} damaged, and {unread_bytes:,} bytes of them behind the damage were not read: {shown}. "
        "What their hosts logged there is missing from every figure, and what was read may be wrong. Copy them again.",
    )


def unread_logs(files: Sequence[str]) -> Warning:
    """Files beside logs that can't be read; each with the reason in words."""
    count = f"{len(files):,} files were" if len(files) > 1 else "1 file was"
    return Warning(
        "unread_logs",
        f"{count} not read: {_some(files)}. A host of which they are the only log doesn't count in the cluster's size. "
        "Unpack or convert them, as by `xz -d` or `iconv -f UTF-16 -t UTF-8`, and ingest again; logs of other nodes can't be read.",
    )


def traces_limited(messages: Mapping[str, float], times: int) -> Warning:
    """Messages that are counted and that nodes log only a limited number of times per second; and how often logs show that limit at work."""
    named = [f"{message} ({most:g} per second)" for message, most in messages.items()]
    found = [
        *([f"Nodes limit how many of these messages they log: {_some(named)}."] if named else []),
        *([f"Tracing held messages back, by {times:,} messages of its own."] if times else []),
    ]
    return Warning(
        "traces_limited",
        f"{' '.join(found)} Messages are missing where most happened, so that times and counts of them may be wrong. Run the nodes "
        "with maxFrequency 0 for what is measured.",
    )


def unknown_messages(lines: Mapping[str, int]) -> Warning:
    """Messages whose names begin as none that cardano-node is known to have."""
    return Warning(
        "unknown_messages",
        f"{sum(lines.values()):,} lines are of messages that slotmark does not read: {_some([f'{part} ({count:,})' for part, count in lines.items()])}. "
        "Nothing of them is analysed; what the node did there shows only in its other messages.",
    )


def rejected_lines(rejected: int, lines: int, reasons: Sequence[str]) -> Warning:
    """Log lines that couldn't be read."""
    return Warning(
        "rejected_lines",
        f"{rejected:,} of {lines:,} log lines could not be read: {', '.join(reasons)}. The table 'rejected' has them with file and place.",
    )


def repeated_lines(repeated: int, hosts: Sequence[str]) -> Warning:
    """Log lines that a host's log has more than once."""
    return Warning(
        "repeated_lines",
        f"{repeated:,} log lines were left out, because the log of their host has the same line before: on {_some(hosts)}. "
        "Pieces of a log overlap, or a collector sent lines again. The table 'hosts' has how many per host.",
    )


def silent_hosts(hosts: Sequence[str]) -> Warning:
    """Hosts whose logs hold nothing that is measured."""
    return Warning(
        "silent_hosts",
        f"No line of these hosts has anything that is measured: {_some(hosts)}. They count in the cluster's size; check that they ran and logged.",
    )


def missing_hosts(hosts: Sequence[str]) -> Warning:
    """Hosts of the cluster of which there is no log."""
    return Warning(
        "missing_hosts",
        f"There is no log of {_some(hosts)}: they don't count in the cluster's size, so shares of hosts are of the others, and their "
        "blocks lack their forging. Copy their logs and ingest again.",
    )


def time_backwards(hosts: Sequence[str]) -> Warning:
    """Hosts whose clocks were set back, or whose logs were put together in a wrong order."""
    return Warning(
        "time_backwards",
        f"Times go backwards by more than a second in the logs of {_some(hosts)}. Check those hosts' clocks, and the order in which their logs were joined.",
    )


def clocks_apart(hosts: Sequence[str], reference: str, limit_ms: float) -> Warning:
    """Hosts whose clocks are far from the one in the middle, each as :func:`apart_clock` gives it."""
    return Warning(
        "clocks_apart",
        f"By the messages between hosts, these clocks are more than {limit_ms:g} ms from that of {reference}, which is in the middle: {_some(hosts)}. "
        "Durations from host to host, and all since the start of a slot, are wrong by as much. Ingest again with --correct-clocks, or set the clocks "
        "right and run again.",
    )


def clocks_corrected(hosts: Sequence[str], reference: str) -> Warning:
    """Hosts whose times are read as estimated, each as :func:`apart_clock` gives it."""
    return Warning(
        "clocks_corrected",
        f"Clocks are set right: times of these hosts are read as if their clocks were that of {reference}, by an estimate from the messages between "
        f"hosts: {_some(hosts)}. The tables have them as they were logged.",
    )


def apart_clock(host: str, offset_ms: float, low_ms: float, high_ms: float) -> str:
    """A host with how far its clock is ahead of another, and between which bounds that must be."""
    bounds = (
        f", {low_ms:+,.1f} to {high_ms:+,.1f} whatever the delays" if isfinite(low_ms) and isfinite(high_ms) else ""
    )
    return f"{host} ({offset_ms:+,.1f} ms{bounds})"


def clocks_moved(hosts: Sequence[str]) -> Warning:
    """Hosts whose clocks were not as far from the others' all the time."""
    return Warning(
        "clocks_moved",
        f"The times of messages fit by no one setting of the clocks of {_some(hosts)}: those went faster or slower than others, or were set "
        "during the run. How far they are off is not known. Check how these hosts keep time, and run again.",
    )


def clocks_unknown(hosts: Sequence[str]) -> Warning:
    """Hosts whose logs don't show how far their clocks are off; none are named where they show it of no host."""
    of = f"of {_some(hosts)}" if hosts else "of any host"
    why = (
        "no messages in both directions between them and the others are in the logs"
        if hosts
        else "log lines of headers and blocks don't name the connection"
    )
    return Warning(
        "clocks_unknown",
        f"How far the clocks {of} are off is not known: {why}. Log ChainSync.Client, ChainSync.ServerHeader, BlockFetch.Client and BlockFetch.Server with "
        "detail DNormal on all hosts.",
    )


def short_hashes(hosts: Sequence[str]) -> Warning:
    """Hosts that log block hashes cut to a few characters."""
    return Warning(
        "short_hashes",
        f"Block hashes are cut in the logs of {_some(hosts)}: blocks can't be followed from host to host. Log with detail DNormal.",
    )


def one_run_a_side() -> Warning:
    """A side of one run."""
    return Warning(
        "one_run_a_side",
        "Run once: intervals cover what varies inside a run (from block to block, from slot to slot, from host to host), not what differs "
        "between two runs of one build. Verdicts are conditional on these runs: a difference may be the run's, not the target's. "
        f"Run each build {ENOUGH_RUNS} times and name all runs of it, with commas.",
    )


def round_left_out(number: int, why: str) -> Warning:
    """A round of runs that took turns, of which not all are there and whole."""
    return Warning("round_left_out", f"Round {number} is not compared: {why}. The other rounds are.")


def mixed_cluster(untold: Sequence[str]) -> Warning:
    """Two targets shared the hosts of one cluster; the decisive metrics that only a cluster as a whole has."""
    what = f" {listed(list(untold))} are of the whole cluster and not compared." if untold else ""
    return Warning(
        "mixed_cluster",
        "Both ran in one cluster: a difference is what a target does on its own host. What a slow one passes on to its neighbours slows both sides, and is in no difference, "
        f"so that a cluster of one target alone differs by more.{what} Runs in turns show it.",
    )


def drifting_rounds(subject: str, correlation: float, p: float) -> Warning:
    """Ratios of consecutive rounds resemble each other; their lag-1 autocorrelation, and the p-value of none."""
    return Warning(
        "drifting_rounds",
        f"The ratio of a round resembles that of the round before (autocorrelation {correlation:.2f}, p {p_value(p)}): something drifted that does "
        "not touch both targets alike. Intervals are wider for it. Find what else ran, or run again with more rounds.",
        subject,
    )


def drifting_blocks(subject: str, correlation: float, p: float) -> Warning:
    """Ratios of consecutive blocks resemble each other; their lag-1 autocorrelation, and the p-value of none."""
    return Warning(
        "drifting_blocks",
        f"The ratio of a block resembles that of the block before (autocorrelation {correlation:.2f}, p {p_value(p)}): something drifted that does "
        "not touch both targets alike, as a warm-up does. Intervals are wider for it. Follow for longer.",
        subject,
    )


def unshared_blocks(subject: str, blocks: int) -> Warning:
    """Blocks at a node's tip that count for one of two clients only."""
    return Warning(
        "unshared_blocks",
        f"{blocks:,} block{'s' if blocks != 1 else ''} count{'s' if blocks == 1 else ''} for one of the two clients only, and {'is' if blocks == 1 else 'are'} in medians but in no ratio: around roll-backwards "
        "a node doesn't announce the same to all, and a client that is still busy isn't waiting.",
        subject,
    )


def few_blocks_at_tip(subject: str, blocks: int) -> Warning:
    """Too few blocks at a node's tip for any verdict."""
    return Warning(
        "few_blocks_at_tip",
        f"{blocks} block{'s' if blocks != 1 else ''} can't tell a difference from noise: no verdict is given below {ENOUGH_BLOCKS}. "
        "Follow for longer.",
        subject,
    )


def not_awaited(subject: str, blocks: int, announced: int) -> Warning:
    """Blocks that the node sent as soon as the client asked, which is not when it adopted them."""
    return Warning(
        "not_awaited",
        f"{blocks:,} of {announced:,} blocks came at once when the client asked, after a roll-backward or while it was busy with the block "
        "before: when the node had them is not known, and they are in no figure.",
        subject,
    )


def never_done(subject: str, blocks: int) -> Warning:
    """Blocks that were announced to a client and that it had not done with when the measurement ended."""
    return Warning(
        "never_done",
        f"{blocks:,} block{'s' if blocks != 1 else ''} {'were' if blocks != 1 else 'was'} announced that the client had not done with when the "
        "measurement ended. Figures are of the others.",
        subject,
    )


def cut_at_tip(after_s: float, asked_s: float, why: str) -> Warning:
    """A measurement at a node's tip that ended before its time."""
    return Warning(
        "cut_at_tip",
        f"Cut after {after_s:,.0f} s of {asked_s:,.0f} s: {why}. What was measured until then is here.",
    )


def crowded(clients: int, cores: int) -> Warning:
    """More clients than can run at the same time beside the node and the relay."""
    return Warning(
        "crowded",
        f"{clients} clients got each block at the same time on {cores} core{'s' if cores != 1 else ''}: they and the relay waited for each other, "
        "and figures hold that. Use a machine with two cores more than clients, or follow with fewer clients.",
    )


def stopped_early(hosts: Sequence[str], seconds: int) -> Warning:
    """Hosts whose logs end before the others'."""
    return Warning(
        "stopped_early",
        f"The logs of {_some(hosts)} end more than {seconds} s before the last one's: blocks after that were not adopted by all hosts. "
        "Check why they stopped, or whether a log was cut.",
    )


def one_process_compared() -> Warning:
    """A side with one process."""
    return Warning(
        "one_process",
        "One process: intervals cover what varies inside it only, and no verdict about the build is given. Record at least 5 per build.",
    )


def two_processes() -> Warning:
    """A side with two processes."""
    return Warning(
        "two_processes",
        "Two processes: they are too often alike by chance to show how far others would lie, and no verdict about the build is given. "
        "Record at least 5 per build.",
    )


def gc_inside(share: float) -> Warning:
    """GC pauses are in the totals; the share is of all time."""
    return Warning(
        "gc_inside",
        f"{share:.0%} of the total time is GC: a difference in total time may come from when the collector ran. Read mutator time beside it.",
    )


def clusters(edges: Sequence[float], unit: str) -> Warning:
    """Costs come in clusters, with these edges between them."""
    shown = ", ".join(f"{edge:,.0f}" for edge in edges)
    return Warning(
        "clusters",
        f"Costs come in {len(edges) + 1} clusters, with edges near {shown} {unit}: a quantile near an edge is of another kind of block "
        "on either side, and a spread across one is no noise. Read the ratios block by block.",
    )


def thin_quantiles(quantiles: Sequence[str], needed: int) -> Warning:
    """Quantiles that rest on few blocks."""
    return Warning("thin_quantiles", f"Resting on fewer than {needed} blocks: the quantiles {', '.join(quantiles)}.")


def few_blocks(needed: int, blocks: int, slots: Sequence[int], share: float) -> Warning:
    """A difference of sums of which half comes from few blocks, in these slots (the first of them), with this share of the cost."""
    named = ", ".join(map(str, slots)) + (" and more" if needed > len(slots) else "")
    return Warning(
        "few_blocks",
        f"Half of the difference in the sum comes from {needed} of {blocks:,} blocks (slot {named}), which hold {share:.1%} of the "
        "cost: look at those.",
    )


def coarse(metric: str, typical_us: float, *, whole: bool) -> Warning:
    """Costs near the resolution: that of whole microseconds, or of the clock."""
    limit = (
        f"takes {typical_us:.0f} us, and times are cut to whole microseconds"
        if whole
        else f"takes {1000 * typical_us:.0f} ns, of which reading the clock is a part"
    )
    return Warning("coarse", f"A typical block {limit}: only sums are compared.", metric)


def lacking(metric: str) -> Warning:
    """A metric that not all runs of a pair of sides have."""
    return Warning("lacking", f"'{metric}' is not compared: not all of its runs and the baseline's have it.")


def not_interleaved(order: str) -> Warning:
    """Targets that weren't recorded in turns; ``order`` has how that is known."""
    return Warning(
        "not_interleaved",
        f"{order[:1].upper()}{order[1:]}: what the machine drifted in between is inside the difference, and no verdict is given. Measure both in one "
        "session, or record them in turns and import them with one --session, or with a study file that has interleaved = true.",
    )


def seen(kind: str, text: str, values: Mapping[str, object]) -> Warning:
    """A warning whose text is a catalogue's: ``{name}`` in it stands for the value of this name, a number, a text or a list of names."""
    return Warning(kind, text.format_map({name: _shown(value) for name, value in values.items()}))


def _shown(value: object) -> str:
    if isinstance(value, list):
        return _some([str(one) for one in value])
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def printed_only() -> Warning:
    """A run that is known from a report's tables."""
    return Warning(
        "printed_only",
        "One printed value per metric is all that is known of this run: nothing shows how its samples varied, and a value is known as far as it was printed.",
    )


def unknown_rows(labels: Sequence[str]) -> Warning:
    """Rows of a report's tables that are no metric."""
    return Warning(
        "unknown_rows",
        f"{len(labels)} row{'s' if len(labels) > 1 else ''} of the report's tables {'are no metrics' if len(labels) > 1 else 'is no metric'} of slotmark and left out: {listed(few(labels, _SHOWN))}.",
    )
