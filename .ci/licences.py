"""`make licences`: every dependency with the licence that it declares, one on a line: licence, ecosystem, name and version."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UNKNOWN = "not declared"
Row = tuple[str, str, str]


def rust() -> Iterator[Row]:
    """Crates of the lock files, by `cargo metadata`."""
    for workspace in sorted({ROOT, *(file.parent for file in ROOT.glob("*/*/Cargo.lock"))}):
        command = ["cargo", "metadata", "--locked", "--format-version=1"]
        found = subprocess.run(command, cwd=workspace, check=True, capture_output=True).stdout
        for package in json.loads(found)["packages"]:
            if package["source"] is not None:
                yield package["license"] or UNKNOWN, "Rust", f"{package['name']} {package['version']}"


def python() -> Iterator[Row]:
    """Distributions that are installed beside this Python: the lock file's."""
    for found in distributions():
        meta = found.metadata
        classified = [
            text.rpartition(" :: ")[2] for text in meta.get_all("Classifier", []) if text.startswith("License ::")
        ]
        text = meta.get("License-Expression") or " AND ".join(classified) or (meta.get("License") or UNKNOWN)
        yield text.splitlines()[0], "Python", f"{meta['Name']} {found.version}"


def node() -> Iterator[Row]:
    """Packages of npm's lock files."""
    for lock in sorted(ROOT.glob("targets/*/package-lock.json")):
        for place, package in json.loads(lock.read_text(encoding="utf-8"))["packages"].items():
            if place:
                name = place.rpartition("node_modules/")[2]
                yield package.get("license", UNKNOWN), "Node", f"{name} {package['version']}"


def go() -> Iterator[Row]:
    """Modules of Go's lock files that are built, by the first line of their licence files."""
    if shutil.which("go") is None:
        return
    form = "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}{{end}}"
    for lock in sorted(ROOT.glob("targets/*/go.sum")):
        command = ["go", "list", "-deps", "-f", form, "."]
        found = subprocess.run(command, cwd=lock.parent, check=True, capture_output=True, text=True).stdout
        for line in sorted({line for line in found.splitlines() if line}):
            path, version, folder = line.split("\t")
            yield first_line(Path(folder)), "Go", f"{path} {version}"


def first_line(folder: Path) -> str:
    """The first line of a module's licence file."""
    for file in sorted(folder.glob("[Ll][Ii][Cc][Ee][Nn][CcSs][Ee]*")):
        lines = [
            line.strip() for line in file.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()
        ]
        return lines[0] if lines else UNKNOWN
    return UNKNOWN


def java() -> Iterator[Row]:
    """Jars that the Maven targets run with, by the poms beside them in the local repository."""
    repository = Path.home() / ".m2" / "repository"
    for jar in sorted(ROOT.glob("targets/*/target/lib/*.jar")):
        yield declared(repository, jar.stem), "Java", jar.stem


def declared(repository: Path, name: str) -> str:
    """The licences of a pom, or of the nearest of its parents that names some."""
    pom = next(repository.glob(f"**/{name}.pom"), None)
    text = pom.read_text(encoding="utf-8", errors="replace") if pom else ""
    if licences := re.findall(r"<license>\s*<name>([^<]+)</name>", text):
        return " OR ".join(licences)
    parent = re.search(r"<parent>(.*?)</parent>", text, re.DOTALL)
    if parent is None:
        return UNKNOWN
    artifact, version = (re.findall(f"<{tag}>([^<]+)</{tag}>", parent[1]) for tag in ("artifactId", "version"))
    return declared(repository, f"{artifact[0]}-{version[0]}")


def main() -> None:
    """Prints all of them, by licence."""
    rows = sorted({row for ecosystem in (rust, python, node, go, java) for row in ecosystem()})
    for licence, ecosystem, name in rows:
        sys.stdout.write(f"{licence:<50} {ecosystem:<7} {name}\n")


main()
