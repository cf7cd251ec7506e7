# SPDX-License-Identifier: GPL-2.0-only
"""Mechanisms by their names, and one of the user's by its file."""

from __future__ import annotations

from pathlib import Path

from . import own_file
from .cpuset import Cpuset
from .daemon import Daemon
from .damon import Damon
from .demotion import Demotion
from .mechanism import Mechanism, parse_values
from .numa_balancing import NumaBalancing
from .numad import Numad
from .oracle import Oracle
from .sched_ext import SchedExt
from .start_bind import StartBind
from .start_interleave import StartInterleave, StartWeighted
from .tiering import Tiering

KNOWN: dict[str, type[Mechanism]] = {found.name: found for found in (
    NumaBalancing, Tiering, Demotion, Damon, Numad, Cpuset, StartBind, StartInterleave, StartWeighted, Daemon, SchedExt, Oracle)}


def make_mechanism(level: str) -> Mechanism | None:
    """Makes the mechanism of a level of a suite, 'NAME[:PARAMETER=VALUE,..][#AGAIN]' or 'FILE.py[:..]'; None of a policy's."""
    name, _, assignments = level.partition("#")[0].partition(":")
    mechanism_class = own_file.load_class(Path(name)) if name.endswith(".py") else KNOWN.get(name)
    return mechanism_class(parse_values(mechanism_class, assignments)) if mechanism_class else None


def select_policies(levels: tuple[str, ...]) -> list[str]:
    """Selects the levels that are policies."""
    return [level for level in levels if make_mechanism(level) is None]
