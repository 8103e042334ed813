"""A supervised process ends with the process that started it, and so does all that it started, wherever that went."""

import os
import signal
import subprocess
import sys
import time
from multiprocessing.connection import Connection

import pytest

from tests.conftest import REPO
from tests.waiting import is_running, until


def starts_others(pipe: Connection) -> None:
    """Starts a child in its group and one in a session of its own, which ignores signals, and answers with its own id and theirs."""
    deaf = (
        "import signal, time; [signal.signal(s, signal.SIG_IGN) for s in (2, 15)]; print(flush=True); time.sleep(600)"
    )
    children = [
        subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE, start_new_session=apart)
        for apart in (False, True)
    ]
    for one in children:
        assert one.stdout
        one.stdout.readline()
    pipe.send([os.getpid(), *(one.pid for one in children)])
    pipe.recv()


def starts_one_that_is_interrupted(pipe: Connection) -> None:
    """Starts a child that ends by SIGINT, and answers with how it ended."""
    child = subprocess.Popen(
        [sys.executable, "-c", "import time; print(flush=True); time.sleep(600)"], stdout=subprocess.PIPE
    )
    assert child.stdout
    child.stdout.readline()
    child.send_signal(signal.SIGINT)
    pipe.send([-child.wait(60)])
    pipe.recv()


def hangs(pipe: Connection) -> None:
    """Doesn't look at the pipe."""
    pipe.send([os.getpid()])
    time.sleep(600)


STARTER = """
import signal, sys, time
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # as Ray's processes have it
from slotmark.measure.supervised import Supervised
from tests.measure import test_supervised
one = Supervised(getattr(test_supervised, sys.argv[1]))
print(*one.pipe.recv(), flush=True)
if sys.argv[2] == "stops":
    one.stop()
    print("stopped", flush=True)
time.sleep(600)
"""


def begun(function: str, then: str = "waits") -> tuple["subprocess.Popen[str]", list[int]]:
    """A process that has started a supervised one, and the ids of that and its children."""
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, function, then],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(REPO), str(REPO / "python")])},
    )
    assert starter.stdout
    return starter, [int(word) for word in starter.stdout.readline().split()]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_all_ends_with_a_starter_that_is_killed(number: signal.Signals) -> None:
    starter, pids = begun("starts_others")
    assert len(pids) == 3
    assert all(map(is_running, pids))
    starter.send_signal(number)
    starter.communicate()
    until(lambda: not any(map(is_running, pids)))


def test_one_that_does_not_listen_ends_by_the_kernel_s_signal() -> None:
    starter, pids = begun("hangs")
    starter.kill()
    starter.communicate()
    until(lambda: not any(map(is_running, pids)))


def test_all_ends_where_the_starter_s_children_are_killed() -> None:
    """As by Ray, when a worker loses its node."""
    starter, pids = begun("starts_others")
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(starter.pid)], capture_output=True, text=True, check=True
    )
    children = [int(word) for word in listed.stdout.split()]
    assert children
    assert not set(children) & set(pids)
    for child in children:
        os.kill(child, signal.SIGKILL)
    until(lambda: not any(map(is_running, pids)))
    starter.kill()
    starter.communicate()


def test_it_is_stopped_by_the_end_of_the_pipe() -> None:
    starter, pids = begun("starts_others", "stops")
    assert starter.stdout
    assert starter.stdout.readline() == "stopped\n"
    assert not any(map(is_running, pids))
    starter.kill()
    starter.communicate()


def test_what_it_starts_does_not_ignore_an_interrupt() -> None:
    """A node ends by SIGINT."""
    starter, ended_by = begun("starts_one_that_is_interrupted")
    assert ended_by == [signal.SIGINT]
    starter.kill()
    starter.communicate()


def test_a_child_in_a_session_of_its_own_stays_without_it() -> None:
    """The control: a process group alone does not reach it."""
    code = (
        "import subprocess, sys, time\n"
        "one = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True, stdout=subprocess.DEVNULL)\n"
        "print(one.pid, flush=True)\ntime.sleep(600)\n"
    )
    starter = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert starter.stdout
    child = int(starter.stdout.readline())
    os.killpg(starter.pid, signal.SIGKILL)
    starter.communicate()
    time.sleep(0.5)
    assert is_running(child)
    os.kill(child, signal.SIGKILL)
