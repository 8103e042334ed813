"""The feed of changes that are sure, as Atom (RFC 4287)."""

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from slotmark.history.results import FoundChange
from slotmark.numbers import difference_with_span

if TYPE_CHECKING:
    from slotmark.site.gathered import Page
    from slotmark.site.pages import Settings

MOST = 200
"""Entries of a feed at most, the newest."""


def feed(settings: "Settings", changes: "Sequence[tuple[Page, FoundChange]]", newest_ns: int) -> bytes:
    """A feed.

    Args:
        settings: Title and address of the site.
        changes: Changes that are sure, the newest first, each with its page.
        newest_ns: When the newest run was measured, in ns since 1970.
    """
    root = f"{settings.url.rstrip('/')}/" if settings.url else ""
    entries = "".join(_entry(root, page, change) for page, change in changes[:MOST])
    text = (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
        f"<title>{escape(settings.title)}</title>\n<id>{escape(root or 'urn:slotmark:changes')}</id>\n<author><name>slotmark</name></author>\n"
        f"<updated>{_at(newest_ns)}</updated>\n<link href={quoteattr(root + 'index.html')}/>\n{entries}</feed>\n"
    )
    return text.encode()


def _entry(root: str, page: "Page", change: FoundChange) -> str:
    size = difference_with_span(change.ratio, change.delta, page.scale)
    of = ", ".join(filter(None, (page.group.target, page.part)))
    since = f" since {change.version or change.name}"
    title = f"{page.metric.name}, {of}: {change.word} {size}{since}"
    why = "; ".join(change.explanations)
    return (
        f"<entry><title>{escape(title)}</title><id>urn:slotmark:change:{escape(change.id)}</id><updated>{_at(change.known_ns)}</updated>"
        f"<link href={quoteattr(f'{root}metrics/{page.name}.html')}/><summary>{escape(why or title)}</summary></entry>\n"
    )


def _at(at_ns: int) -> str:
    return datetime.datetime.fromtimestamp(at_ns // 10**9, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
