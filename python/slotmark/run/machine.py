"""Facts about the machine that a measurement depends on."""

import datetime
import hashlib
import os
import platform
import re
import socket
from pathlib import Path

import msgspec

from slotmark import warnings
from slotmark.cores import usable_cores
from slotmark.warnings import Warning

UNKNOWN = "unknown"


class MachineFacts(msgspec.Struct, frozen=True):
    """The state of the machine when a run began.

    Attributes:
        cpu: The processor's model.
        cores: Cores that this process may use.
        governor: The frequency governor, or ``unknown`` where the machine doesn't show it (virtual machines mostly don't).
        memory_bytes: Main memory.
        kernel: Name and release of the kernel.
        system: The distribution.
        virtualisation: The hypervisor, ``container``, or ``none``.
        load: The load average over the last minute.
        hostname_hash: Distinguishes machines without naming them.
    """

    cpu: str
    cores: int
    governor: str
    memory_bytes: int
    kernel: str
    system: str
    virtualisation: str
    load: float
    hostname_hash: str

    @property
    def kind(self) -> dict[str, str]:
        """The kind of the machine: what figures must share to stand side by side, by its name in words.

        These are the processor, its cores, memory in GiB, the kernel with its major version, and the virtualisation that it ran in, each as far as it is known.
        """
        major = re.match(r"\S+ \d+", self.kernel)
        facts = {
            "processor": self.cpu,
            "cores": f"{self.cores} core{'' if self.cores == 1 else 's'}" if self.cores else UNKNOWN,
            "memory": f"{round(self.memory_bytes / (1 << 30))} GiB" if self.memory_bytes else UNKNOWN,
            "kernel": major[0] if major else self.kernel,
            "virtualisation": self.virtualisation,
        }
        return {name: fact for name, fact in facts.items() if fact not in ("", UNKNOWN)}


def machine_facts() -> MachineFacts:
    """Reads the facts from the kernel; what can't be read is ``unknown`` or 0."""
    return MachineFacts(
        cpu=_cpuinfo("model name") or platform.processor() or UNKNOWN,
        cores=usable_cores(),
        governor=_first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") or UNKNOWN,
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        kernel=f"{platform.system()} {platform.release()}",
        system=platform.freedesktop_os_release().get("PRETTY_NAME", UNKNOWN)
        if Path("/etc/os-release").exists()
        else UNKNOWN,
        virtualisation=_virtualisation(),
        load=os.getloadavg()[0],
        hostname_hash=_hash(socket.gethostname() + (_first_line("/etc/machine-id") or "")),
    )


LOADED = 0.5
"""The load average per core, before a measurement, above which something else was running."""


def machine_warnings(machine: MachineFacts) -> list[Warning]:
    """Warnings about the machine as it was before a measurement: other work was running."""
    if machine.load <= LOADED * machine.cores:
        return []
    return [warnings.machine_loaded(machine.load, machine.cores)]


def _first_line(path: str) -> str:
    try:
        with Path(path).open(encoding="utf-8") as lines:
            return lines.readline().strip()
    except OSError:
        return ""


def _cpuinfo(key: str) -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return ""
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return ""


def _virtualisation() -> str:
    for marker in ("/.dockerenv", "/run/.containerenv"):
        if Path(marker).exists():
            return "container"
    product = _first_line("/sys/class/dmi/id/product_name")
    if "hypervisor" in _cpuinfo("flags").split():
        return product or "virtual machine"
    return "none"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def utc_now() -> str:
    """The wall clock, ISO 8601, UTC, to the millisecond."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
