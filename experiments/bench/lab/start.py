# SPDX-License-Identifier: GPL-2.0-only
"""From the lab's command line to the end of a command that does nothing, in seconds of the host: booted and restored."""

import statistics
import subprocess
import time

from experiments.bench.lab.inside import ROOT
from experiments.bounds import Outcome
from experiments.lab.command import build_words

MACHINE = "demo-2s"
MODES = ("functional", "timed")
STARTS = 5
RESTORED_S = 2


def time_start(mode: str, *options: str) -> float:
    """Returns the seconds of the host from the command line to the end of `true` in the machine."""
    begin = time.monotonic()
    subprocess.run(build_words(MACHINE, ["true"], options, functional=mode == "functional"), cwd=ROOT, check=True)
    return time.monotonic() - begin


def measure_starts() -> Outcome:
    """Measures host s of starts of the machine, booted and restored, in each mode; checks the restored ones; returns the outcome."""
    out, records = Outcome(), []
    out.say(f"{'':12}{'booted':>22}{'restored':>22}   host s, median of {STARTS}, least and most")
    for mode in MODES:
        time_start(mode)  # leaves the snapshot
        starts_s: dict[str, list[float]] = {"booted": [], "restored": []}
        for _ in range(STARTS):
            starts_s["booted"].append(time_start(mode, "--no-snapshot"))
            starts_s["restored"].append(time_start(mode))
        shown = [f"{statistics.median(s):.2f} ({min(s):.2f} to {max(s):.2f})" for s in starts_s.values()]
        out.say(f"{mode:12}{shown[0]:>22}{shown[1]:>22}")
        out.at_most(f"restored {mode} machine, host s", statistics.median(starts_s["restored"]), RESTORED_S, "{:.2f}")
        records.append({"mode": mode, **starts_s})
    out.data = {"starts": records}
    return out
