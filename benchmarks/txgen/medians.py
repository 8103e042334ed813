"""Medians over the rounds that the benchmark prints, one JSON object per line on standard input."""

import json
import sys
from statistics import median

from slotmark.run import machine_facts

rounds = [json.loads(line) for line in sys.stdin]
machine = machine_facts()
middle = {name: median(one[name] for one in rounds) for name in rounds[0]}
print(f"{machine.cpu}, one of {machine.cores} cores, load average {machine.load:.1f}; medians of {len(rounds)} rounds")
print(f"signed on one core           {middle['signed_tps']:>10,.0f} transactions a second")
print(f"offered, all at once         {middle['at_once_tps']:>10,.0f} transactions a second")
print(
    f"offered, {middle['asked_tps']:,.0f} asked for    {middle['reached_tps']:>10,.1f} transactions a second: "
    f"{middle['reached_tps'] / middle['asked_tps']:.4f} of what was asked for, with {100 * middle['cores']:.0f} % of the core"
)
