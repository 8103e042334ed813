"""Pieces on Ray where it, or a node of it, can't do them: refused in a line, without a cluster."""

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from slotmark.engine import Piece
from slotmark.engine.ray import Cluster as Nodes
from slotmark.engine.ray import Node, on_nodes, output_of_ray, refuse, refuse_without_ray
from slotmark.engine.ray.connection import LOG, lost_in_words
from slotmark.errors import EngineError
from tests.conftest import slotmark
from tests.engine import works
from tests.engine.test_ray import SWEEP


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--engine", "ray"], "--engine ray: expected -o DIR"),
        (["--insecure-ray"], "--insecure-ray and --ray-label need --engine ray"),
        (["--engine", "ray", "--shard", "1/2", "-o", "out"], "--shard and --engine: a shard is done on this machine"),
        (["--engine", "ray", "--ray-label", "host", "-o", "out"], "--ray-label host: expected KEY=VALUE"),
    ],
)
def test_options_that_make_no_sense_are_refused(words: list[str], why: str, tmp_path: Path) -> None:
    refused = slotmark(*SWEEP, *words, cwd=tmp_path)
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert why in refused.stderr
    assert not list(tmp_path.iterdir())


def test_without_ray_the_command_says_how_to_install_it(tmp_path: Path) -> None:
    hidden = tmp_path / "sitecustomize.py"
    hidden.write_text(
        "import importlib.util, sys\n"
        "found = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *more: None if name == 'ray' else found(name, *more)\n",
        encoding="utf-8",
    )
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    refused = slotmark(*SWEEP, "--engine", "ray", "-o", tmp_path / "out", env=environment)
    assert (refused.returncode, refused.stderr) == (
        2,
        "slotmark: --engine ray: Ray is not installed here. Install it: pip install 'slotmark[ray]'.\n",
    )


def test_no_command_loads_ray() -> None:
    """All modules of commands and benches, and the engines, are loaded; a simulation by the local engine is done."""
    code = (
        "import importlib, pkgutil, sys, slotmark\n"
        "for one in pkgutil.walk_packages(slotmark.__path__, 'slotmark.'):\n"
        "    if one.name != 'slotmark.__main__':\n"
        "        importlib.import_module(one.name)\n"
        "assert 'slotmark.engine.ray' in sys.modules and 'slotmark.cli.predict' in sys.modules\n"
        "print(sorted(name for name in sys.modules if name.split('.')[0] == 'ray'))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_worker_of_another_version_does_no_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node may join a cluster after all of its nodes were asked."""
    pytest.importorskip("ray")
    piece = Piece(work=works.held, inputs=(0, "/nowhere"), label="number 0")
    monkeypatch.setattr(on_nodes, "slotmark_commit", lambda: "another")
    found = on_nodes.in_worker(piece, ("0.1.0", "this", "3.11"))[0]
    assert isinstance(found, EngineError)
    assert "joined the cluster with another version" in str(found)


@pytest.mark.parametrize("printed", ["", "what Ray printed\n"])
def test_what_ray_printed_is_kept_and_named(printed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    said: list[str] = []
    with pytest.raises(EngineError) as lost, output_of_ray(said.append) as folder:
        (folder / LOG).write_text(printed, encoding="utf-8")
        raise EngineError(lost_in_words("198.18.0.1:6379", "it ended.", folder))
    log = folder / LOG
    assert said == ([f"What Ray printed is in {log}."] if printed else [])
    assert (str(log) in str(lost.value)) == log.exists() == bool(printed)
    assert folder.exists() == bool(printed)


@pytest.mark.parametrize(
    ("version", "is_refused"), [("2.51.2", True), ("1.99", True), ("2.52.0", False), ("3.0", False)]
)
def test_a_ray_without_tokens_is_refused(version: str, is_refused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: object())
    monkeypatch.setattr("importlib.metadata.version", lambda _name: version)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    if not is_refused:
        refuse_without_ray()
        return
    with pytest.raises(EngineError) as refused:
        refuse_without_ray()
    assert str(refused.value) == (
        f"--engine ray: Ray {version} has no authentication by token; at least 2.52 is needed. Install it: pip install 'slotmark[ray]'."
    )


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"ray": "2.61.0"}, "Ray 2.61.0, here 2.60.0"),
        ({"python": "3.12.2"}, "Python 3.12.2, here 3.11.2"),
        ({"python": "3.12.2", "ray": "2.61.0"}, "Ray 2.61.0, here 2.60.0 (and 1 other difference)"),
        ({"slotmark": "", "commit": ""}, "slotmark none, here 0.1.0 abc"),
        ({"commit": "def"}, "slotmark 0.1.0 def, here 0.1.0 abc"),
        ({"python": "3.11.9"}, ""),
    ],
)
def test_a_node_with_other_versions_is_refused(other: Mapping[str, str], why: str) -> None:
    here = Node(host="a", ray="2.60.0", python="3.11.2", slotmark="0.1.0", commit="abc", secured=True)
    node = msgspec.structs.replace(here, host="b", address="198.18.0.2", **other)
    cluster = Nodes(address="198.18.0.1:6379", here=here, nodes=[here, node])
    if not why:
        refuse(cluster, insecure=False, labels={})
        return
    with pytest.raises(EngineError) as refused:
        refuse(cluster, insecure=False, labels={})
    assert str(refused.value) == (
        f"b (198.18.0.2): {why}. Install the same on all nodes and start them again: outputs must not depend on the node."
    )


def test_a_node_that_does_not_answer_is_not_one_of_another_version() -> None:
    """Ray counts a node for a while after its end."""
    here = Node(host="a", ray="2.60.0", python="3.11.2", slotmark="0.1.0", secured=True)
    lost = Node(address="198.18.0.2", fault="no answer: The node died.")
    cluster = Nodes(address="198.18.0.1:6379", here=here, nodes=[here, lost])
    with pytest.raises(EngineError) as refused:
        refuse(cluster, insecure=False, labels={})
    assert str(refused.value) == (
        "198.18.0.2: this node of the Ray cluster doesn't answer (no answer: The node died). It may have been lost a moment ago: Ray counts a "
        "node for some 20 s after its end. Wait and run the same command again, or end it there with `ray stop`."
    )


@pytest.mark.parametrize("there", [False, True])
def test_a_head_that_does_not_answer_is_named_and_nothing_is_left(there: bool, tmp_path: Path) -> None:
    """Ray tried it for more than ten minutes without a word; what the command had made for outputs stayed."""
    pytest.importorskip("ray")
    if there:
        (tmp_path / "out").mkdir()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and doesn't listen
        head = f"127.0.0.1:{taken.getsockname()[1]}"
        environment = {**os.environ, "RAY_ADDRESS": head}
        refused = slotmark(*SWEEP, "--engine", "ray", "-o", tmp_path / "out", env=environment, timeout=100)
    assert (refused.returncode, refused.stderr) == (
        2,
        f"slotmark: --engine ray: nothing answers at {head} (Connection refused). This command runs on a node of a running cluster; RAY_ADDRESS=HOST:PORT names its head.\n",
    )
    assert [one.name for one in tmp_path.rglob("*")] == (["out"] if there else [])
