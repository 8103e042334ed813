"""Runs a network of many hosts under load and prints how late its packets were, by the router's own clock and by the receivers' kernels."""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

REGIONS = 3
RTT_MS = {(0, 0): 0.2, (1, 1): 0.25, (2, 2): 0.15, (0, 1): 90.2, (1, 2): 200.0, (0, 2): 250.0}
"""Round trips between the regions of the profile cluster-52."""

BLOCK = 90_112
PORT = 3000


def delay_us(a: int, b: int) -> int:
    """The one-way delay between two hosts, which take turns in the regions."""
    between = (min(a % REGIONS, b % REGIONS), max(a % REGIONS, b % REGIONS))
    return round(RTT_MS[between] * 500)


def address(host: int) -> str:
    """A host's address."""
    return f"198.18.{host // 250}.{host % 250 + 1}"


def plan(hosts: int) -> dict[str, Any]:
    """The network."""
    return {
        "hosts": [{"name": f"node-{host}", "address": address(host)} for host in range(hosts)],
        "default": {"delay_us": 0},
        "links": [
            {"from": f"node-{a}", "to": f"node-{b}", "link": {"delay_us": delay_us(a, b)}}
            for a in range(hosts)
            for b in range(hosts)
            if a != b
        ],
    }


def centile(buckets: list[tuple[int, int]], share: float) -> int:
    """The value below which this share of the counted ones lies."""
    left = share * sum(count for _, count in buckets)
    for value, count in sorted(buckets):
        left -= count
        if left <= 0:
            return value
    raise ValueError("no datagram arrived")


def started(arguments: list[str]) -> subprocess.Popen[str]:
    """A process with pipes, after its first line."""
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    if not process.stdout.readline():
        sys.exit(process.wait())
    return process


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("wan", type=Path)
    parser.add_argument("probe", type=Path)
    parser.add_argument("--hosts", type=int, default=52)
    parser.add_argument("--degree", type=int, default=10, help="peers that each host fetches from")
    parser.add_argument("--every-ms", type=int, default=2000, help="time between two fetches from a peer")
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--busy", type=int, default=0)
    given = parser.parse_args()
    degree = min(given.degree, given.hosts - 1)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(plan(given.hosts), file)
        file.flush()
        router = started([str(given.wan), "run", file.name])

    def in_host(host: int, *arguments: str) -> list[str]:
        return [
            *(str(given.wan), "exec", "--wan", str(router.pid), "--host", f"node-{host}", "--"),
            *(str(given.probe), *arguments),
        ]

    quiet = started(in_host(0, "serve", f"{address(0)}:{PORT + 1}"))
    fetch = in_host(1, "fetch", f"{address(0)}:{PORT + 1}", "--bytes", str(BLOCK), "--times", "1")
    rested_us = int(subprocess.run(fetch, check=True, capture_output=True, text=True).stdout)
    quiet.terminate()
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(given.busy)]
    hosts: list[subprocess.Popen[str]] = []
    for host in range(given.hosts):
        peers = [(host + step) % given.hosts for step in range(1, degree + 1)]
        to = [f"--peer={address(peer)}:{PORT}={delay_us(host, peer)}" for peer in peers]
        options = ("--bytes", str(BLOCK), "--every-ms", str(given.every_ms))
        hosts.append(started(in_host(host, "load", f"{address(host)}:{PORT}", *to, *options)))
    for host in hosts:
        assert host.stdin
        host.stdin.write("g")
        host.stdin.flush()
    time.sleep(given.seconds)
    seen = [json.loads(host.communicate()[0]) for host in hosts]
    for process in busy:
        process.kill()
        process.wait()
    figures = json.loads(router.communicate()[0])["statistics"]
    late = [(value, count) for host in seen for value, count in host["late_us"]]
    lateness = figures["lateness_us"]
    seconds = figures["duration_us"] / 1e6
    print(f"{given.hosts} hosts, {degree} peers each, {given.busy} busy processes, {seconds:.0f} s")
    print(
        f"{'carried':36}{figures['packets'] / seconds:,.0f} packets/s, {figures['bytes'] * 8 / seconds / 1e6:,.0f} Mbit/s"
    )
    print(f"{'blocks of 90,112 B fetched':36}{sum(host['fetches'] for host in seen):,}")
    print(
        f"{'lateness, router':36}median {lateness['median']:,.0f} us, p99 {lateness['p99']:,.0f} us, max {lateness['max']:,.0f} us"
    )
    print(f"{'lateness, sender to receiver kernel':36}median {centile(late, 0.5):,} us, p99 {centile(late, 0.99):,} us")
    print(f"{'lost by the router':36}{figures['own_drops']}")
    print(f"{'CPU of the router':36}{100 * figures['cpu_us'] / figures['duration_us']:.0f} % of a core")
    trips = rested_us / (2 * delay_us(0, 1))
    print(f"{'a first 90,112 B, nothing else going':36}{trips:.2f} round trips (slow start from 10 segments: 4)")


if __name__ == "__main__":
    main()
