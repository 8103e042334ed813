"""The engines that commands may be given: their options, and what is printed of a Ray cluster."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from slotmark.cli.console import print_table, talk
from slotmark.errors import ArgumentError
from slotmark.numbers import plain
from slotmark.options import Option
from slotmark.places import Place, Url

if TYPE_CHECKING:
    from rich.table import Table

    from slotmark.benches.cluster.live.sites.elsewhere import Reach
    from slotmark.engine import Engine
    from slotmark.engine.hosts import Wanted
    from slotmark.engine.ray import Cluster
    from slotmark.engine.station import Station
    from slotmark.warnings import Warning


def _labels(option: str, given: Sequence[str]) -> dict[str, str]:
    found = {}
    for one in given:
        key, sign, value = one.partition("=")
        if not (key and sign and value):
            raise ArgumentError(f"{option} {one}: expected KEY=VALUE, as role=sweep.")
        found[key] = value
    return found


InsecureRay = Annotated[bool, Option("Use a Ray cluster without tokens; the report then has a warning.")]


class EngineRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The engine that is to do the work of a command."""

    engine: Annotated[
        Literal["local", "ray"],
        Option("Where the work is done: on this machine, or on the Ray cluster that it belongs to."),
    ] = "local"
    insecure_ray: InsecureRay = False
    ray_labels: Annotated[
        Mapping[str, str],
        Option(
            "Use only Ray nodes with this label; again for more.",
            "KEY=VALUE",
            ("--ray-label",),
            parse=_labels,
            typed=list[str],
        ),
    ] = {}


FOLDER = ".ray"
"""The name, or the end of it, of what finished pieces are kept in until all are."""


class Chosen(msgspec.Struct, frozen=True):
    """An engine that was chosen.

    Attributes:
        engine: The engine.
        unit: The unit of its progress, where pieces are simulations.
        noted: Warnings for the manifests of all that it makes.
    """

    engine: "Engine"
    unit: str = "slots"
    noted: "Sequence[Warning]" = ()


@contextmanager
def chosen(request: EngineRequest, out: Place | None, *, whole: bool = False) -> Iterator[Chosen]:
    """Makes the engine that is asked for. Ray's keeps what is finished until the end: in ``out``, or beside it.

    Args:
        request: Which.
        out: The place that the command writes to.
        whole: Whether it makes that whole, so that nothing may lie in it before.

    Yields:
        The engine.

    Raises:
        ArgumentError: Options that make no sense together.
        EngineError: Ray is not installed.
    """
    insecure, labels = request.insecure_ray, request.ray_labels
    if request.engine == "local":
        if insecure or labels:
            raise ArgumentError("--insecure-ray and --ray-label need --engine ray: give that, or leave them out.")
        from slotmark.engine import local

        yield Chosen(local)
        return
    if out is None:
        raise ArgumentError(
            "--engine ray: expected -o DIR: finished pieces are kept there, so that a rerun can continue."
        )
    from slotmark.engine.ray import on_ray
    from slotmark.engine.reached import forget
    from slotmark.warnings import insecure_ray

    if isinstance(out, Url) and not out.key:
        raise ArgumentError(f"-o {out}: a whole bucket. With --engine ray name a place in it, as {out}/runs.")
    kept = out.parent / f".{out.name}{FOLDER}" if whole or isinstance(out, Url) else out / FOLDER
    # Of a store, what Ray prints is kept here.
    folder, shared = (Path(kept.name), kept) if isinstance(kept, Url) else (kept, None)
    with on_ray(
        folder, shared=shared, insecure=insecure, labels=labels, checked=_print_checked, remark=talk.remark
    ) as engine:
        yield Chosen(engine, "pieces", [insecure_ray()] if insecure else [])
    for place in {kept, folder}:
        forget(place)


def reach_of(name: str, *, insecure: bool) -> "Reach | None":
    """The way to the machines of a live cluster; None for this machine.

    Raises:
        ArgumentError: Options that make no sense together.
        EngineError: Ray is not installed.
    """
    if name == "local":
        if insecure:
            raise ArgumentError("--insecure-ray needs --engine ray: give that, or leave it out.")
        return None
    from slotmark.engine.ray import output_of_ray, refuse_without_ray, stations

    refuse_without_ray()
    printed: list[Cluster] = []

    def print_new(cluster: "Cluster") -> None:
        """Prints what a cluster has, of several runs once, and where it changed."""
        if printed != [cluster]:
            _print_checked(cluster)
            printed[:] = [cluster]

    @contextmanager
    def reach(wanted: "Mapping[str, Wanted]", start: Callable[[], Any]) -> "Iterator[dict[str, Station]]":
        with (
            output_of_ray(talk.remark) as folder,
            stations(wanted, start, folder, insecure=insecure, checked=print_new) as found,
        ):
            yield found

    return reach


def _print_checked(cluster: "Cluster") -> None:
    """Prints what a cluster has, on standard error."""
    print_table(nodes_table(cluster), errors=True)


def nodes_table(cluster: "Cluster") -> "Table":
    """Returns a table of what a cluster has, a row per node."""
    from rich.table import Table

    table = Table(title=f"Ray cluster {cluster.address}", title_justify="left")
    for title in ("node", "labels", "cores", "Ray", "Python", "slotmark", "token"):
        table.add_column(title)
    for node in cluster.nodes:
        labels = ", ".join(f"{key}={value}" for key, value in node.own_labels())
        facts = (
            (
                node.ray,
                node.python,
                f"{node.slotmark or 'none'} {node.commit}".rstrip(),
                "yes" if node.secured else "no",
            )
            if not node.fault
            else (node.fault, "", "", "")
        )
        table.add_row(node.name, labels, plain(node.cores), *facts)
    return table
