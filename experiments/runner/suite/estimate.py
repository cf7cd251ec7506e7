# SPDX-License-Identifier: GPL-2.0-only
"""How long a suite takes on a machine: by what it took there last, or computed from its levels.

What a run took is kept by user, suite and machine. A computed time is that of a real machine; how long the lab takes
depends on the host, so there only a kept time counts.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
import platform
import re
from argparse import ArgumentTypeError
from dataclasses import dataclass, replace
from pathlib import Path

from ...errors import UsageError
from ...host.host_nodes import read_lab_name
from ...paths import cache
from ...units import format_duration
from ..kinds import footprint
from . import schedule
from .suite import Suite, Workload

FILL = 500e6   # bytes/s that a program fills and checks at, one thread in random order
WORK_SECONDS = 0.5  # s, of a fixed work, which is three times a placement, assumed
PROCESS = 0.5  # s to start, look at and end the processes of an observation
LEAD = 0.3     # s until the workers of an observation begin together
UNITS = {"h": 3600.0, "min": 60.0, "s": 1.0}
DIGITS = 12  # of the digest of a suite's levels, in a key
TIMED = ("memory", "triad", "loaded", "handover")  # kinds that measure for `seconds`
WORK = ("sort", "update")  # operations that end when they are done


@dataclass(frozen=True)
class Estimate:
    """Holds how many observations a run makes, and the seconds that all of them take."""
    observations: int
    seconds: float | None  # None: not known
    source: str            # "as here before", "computed" or why it is not known


def parse_budget(text: str) -> float:
    """Parses a time such as '8h', '90min' or '1h30min'. Returns seconds. ArgumentTypeError: it is none."""
    if not re.fullmatch(r"(\d+(\.\d+)?(h|min|s))+", text):
        raise ArgumentTypeError(f"{text}: is no time, as in 10min or 1h30min")
    return sum(float(number) * UNITS[unit] for number, unit in re.findall(r"([\d.]+)(h|min|s)", text))


def estimate_run(suite: Suite, lab: str | None) -> Estimate:
    """Estimates the observations and seconds of a suite whose workloads are made, on a machine of the lab or, None, on this one."""
    observations = len(schedule.make_schedule(suite))
    seconds_each = read_estimate(suite, lab)
    if seconds_each is not None:
        return Estimate(observations, observations * seconds_each, "as here before")
    if lab:
        return Estimate(observations, None, f"not known: not run on {lab} yet; stated: {suite.takes}")
    times = {workload.name: compute_seconds(workload, suite) for workload in suite.workloads}
    unknown = [name for name, seconds in times.items() if seconds is None]
    if unknown:
        return Estimate(observations, None, f"not known: {unknown[0]} works until it is done; known after a first run")
    return Estimate(observations, sum(times[trial.workload.name] for trial in schedule.make_schedule(suite)), "computed")


def compute_seconds(workload: Workload, suite: Suite) -> float | None:
    """Computes the seconds of an observation on a real machine; None where the workload ends when its work is done."""
    options = suite.parameters[workload.kind] | workload.options
    if workload.kind not in TIMED or options.get("operation") in WORK:
        return None
    fill = sum(footprint.count_bytes(workload, suite).values()) / FILL
    return PROCESS + LEAD + options.get("warm", 0.0) + options["seconds"] + suite.sample + fill + (0 if schedule.is_static(suite) else WORK_SECONDS)


def limit_repeats(suite: Suite, seconds: float, lab: str | None) -> Suite:
    """Returns the suite with no more repeats than fit into so many seconds; unchanged where its time is not known, as a clock will
    stop it. lab: as of estimate_run(). UsageError: not even one repeat fits."""
    estimate = estimate_run(suite, lab)
    if estimate.seconds is None or estimate.seconds <= seconds:
        return suite
    first_seconds = estimate_run(replace(suite, repeats=1), lab).seconds  # with the warm-ups
    block_seconds = estimate_run(replace(suite, repeats=2), lab).seconds - first_seconds
    repeats = 1 + math.floor((seconds - first_seconds) / block_seconds)
    if repeats < 1:
        raise UsageError(f"--budget: one repeat of suite {suite.name} takes {format_duration(first_seconds)} ({estimate.source}): "
                         "give more time, or fewer workloads with --workloads, or --quick")
    return replace(suite, repeats=repeats)


def _make_key(suite: Suite, lab: str | None) -> str:
    """Returns the key of an estimate; levels and times are a part of it, as --quick and --set take another time."""
    levels = json.dumps([suite.levels, suite.parameters, [w.name for w in suite.workloads], suite.policies],
                        sort_keys=True, default=str)
    return f"{suite.name} on {lab or platform.node()}, {hashlib.sha256(levels.encode()).hexdigest()[:DIGITS]}"


def _find_file() -> Path:
    return cache() / "times.json"


def _read_estimates() -> dict[str, float]:
    """Reads the seconds of an observation by _make_key(); {} where none are kept or the file is spoiled."""
    try:
        found = json.loads(_find_file().read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def read_estimate(suite: Suite, lab: str | None) -> float | None:
    """Returns the seconds of an observation as kept, with its part of booting where there was a boot; None where none are kept."""
    return _read_estimates().get(_make_key(suite, lab))


def keep_estimate(suite: Suite, lab: str | None, seconds: float, observations: int) -> None:
    """Keeps what an observation took, of `seconds` for all; does nothing in a guest of the lab or where the folder cannot be written."""
    if not observations or read_lab_name():  # a guest's clock says nothing of the host's
        return
    partial = _find_file().with_suffix(f".{os.getpid()}")
    try:
        _find_file().parent.mkdir(parents=True, exist_ok=True)
        with open(_find_file().with_suffix(".lock"), "w") as lock:  # two runs of --all end at the same time
            fcntl.flock(lock, fcntl.LOCK_EX)
            partial.write_text(json.dumps(_read_estimates() | {_make_key(suite, lab): seconds / observations}, indent=1) + "\n")
            os.replace(partial, _find_file())
    except OSError:
        partial.unlink(missing_ok=True)
