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
    out, data = Outcome(), []
    out.say(f"{'':12}{'booted':>22}{'restored':>22}   host s, median of {STARTS}, least and most")
    for mode in MODES:
        time_start(mode)  # leaves the snapshot
        taken: dict[str, list[float]] = {"booted": [], "restored": []}
        for _ in range(STARTS):
            taken["booted"].append(time_start(mode, "--no-snapshot"))
            taken["restored"].append(time_start(mode))
        shown = [f"{statistics.median(s):.2f} ({min(s):.2f} to {max(s):.2f})" for s in taken.values()]
        out.say(f"{mode:12}{shown[0]:>22}{shown[1]:>22}")
        out.at_most(f"restored {mode} machine, host s", statistics.median(taken["restored"]), RESTORED_S, "{:.2f}")
        data.append({"mode": mode, **taken})
    out.data = {"starts": data}
    return out
