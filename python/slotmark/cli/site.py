"""`slotmark site` and `slotmark serve`: a store as static pages, and a look at them."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from slotmark.cleaning import one_name
from slotmark.cli.console import progress, talk
from slotmark.cli.store import DecisionsOption, StoreOption
from slotmark.errors import ArgumentError
from slotmark.places import folder_of, place


def site(
    store: StoreOption,
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="DIR", help="Write the site there.", parser=folder_of)
    ] = Path("public"),
    title: Annotated[str, typer.Option(metavar="TEXT", help="The site's title.")] = "Performance over time",
    days: Annotated[
        int, typer.Option(metavar="N", min=1, max=3650, help="Days before the newest run, whose changes come first.")
    ] = 30,
    url: Annotated[str, typer.Option(metavar="URL", help="Where the site will be, for the links of its feed.")] = "",
    decisions: DecisionsOption = None,
) -> None:
    """Write a store as static pages: what changed, every metric over versions, every run; a feed and badges. docs/site.md."""
    from slotmark.history import open_store
    from slotmark.history.decisions import read_decisions
    from slotmark.site import Settings, pages, write_site

    if url and not url.startswith(("http://", "https://")):
        raise ArgumentError(f"--url '{one_name(url)}': expected an address as https://example.org/performance.")
    opened = open_store(place(store))
    settings = Settings(title=one_name(title) or "Performance over time", days=days, store=store, url=url)
    with progress("pages") as step:
        done = write_site(out, pages(opened, read_decisions(opened, decisions), settings, step))
    gone = f", {done.removed:,} gone" if done.removed else ""
    talk.remark(f"slotmark: {done.files:,} files, {done.written:,} of them written{gone}")
    typer.echo(out / "index.html")


def serve(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder with a site.", parser=folder_of)] = Path(
        "public"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for a free one.")] = 8000,
) -> None:
    """Show a site in a browser of this machine, until Ctrl-C. Other machines can't reach it."""
    from slotmark.site.serving import site_server

    if not (folder / "index.html").is_file():
        raise ArgumentError(f"{folder}: has no index.html. Write a site first: slotmark site --store STORE -o {folder}")
    try:
        server = site_server(folder, port)
    except OSError as error:
        raise ArgumentError(
            f"--port {port}: can't listen there ({error.strerror}). Choose another, or 0 for a free one."
        ) from error
    with server:
        typer.echo(f"http://127.0.0.1:{server.server_port}/")
        sys.stdout.flush()
        server.serve_forever(poll_interval=0.1)
