"""Names of pages, which stay as they are while what they are of does: links to them are permanent."""

import hashlib
import re

from slotmark.history.series import Group

_PLAIN = re.compile(r"[^a-z0-9]+")
_LETTERS, _DIGITS, _OF_RUN = 40, 10, 16


def of_metric(group: Group, metric: str, part: str) -> str:
    """The name of the page of a metric: of all runs of one work of a target, on whatever kind of machine."""
    key = "\0".join((group.bench, group.target, group.workload, metric, part))
    words = _PLAIN.sub("-", f"{group.target} {metric} {part}".lower()).strip("-")[:_LETTERS].strip("-")
    return f"{words}-{hashlib.sha256(key.encode()).hexdigest()[:_DIGITS]}"


def of_version(group: Group, version: str) -> str:
    """The name of the page that compares a version with the one before it, on one kind of machine."""
    key = "\0".join((group.bench, group.target, group.workload, group.machine, version))
    words = _PLAIN.sub("-", f"{group.target} {version}".lower()).strip("-")[:_LETTERS].strip("-")
    return f"{words or 'version'}-{hashlib.sha256(key.encode()).hexdigest()[:_DIGITS]}"


def of_run(digest: str) -> str:
    """The name of the page of a run."""
    return digest[:_OF_RUN]
