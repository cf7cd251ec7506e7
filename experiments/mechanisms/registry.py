# SPDX-License-Identifier: GPL-2.0-only
"""Mechanisms by their names, and one of the user's by its file."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from ..errors import UsageError
from .clairvoyant import Clairvoyant
from .cpuset import Cpuset
from .daemon import Daemon
from .damon import Damon
from .demotion import Demotion
from .mechanism import Mechanism, values_of
from .numa_balancing import NumaBalancing
from .numad import Numad
from .sched_ext import SchedExt
from .start_bind import StartBind
from .start_interleave import StartInterleave, StartWeighted
from .tiering import Tiering

KNOWN: dict[str, type[Mechanism]] = {found.name: found for found in (
    NumaBalancing, Tiering, Demotion, Damon, Numad, Cpuset, StartBind, StartInterleave, StartWeighted, Daemon, SchedExt, Clairvoyant)}


def of_level(level: str) -> Mechanism | None:
    """Of a level of a suite, 'NAME[:PARAMETER=VALUE,..][#AGAIN]' or 'FILE.py[:..]'; None of a policy's."""
    name, _, text = level.partition("#")[0].partition(":")
    found = _of_file(Path(name)) if name.endswith(".py") else KNOWN.get(name)
    return found(values_of(found, text)) if found else None


def only_policies(levels: tuple[str, ...]) -> list[str]:
    return [level for level in levels if of_level(level) is None]


def _of_file(path: Path) -> type[Mechanism]:
    """The one class of a mechanism that the file has."""
    try:
        spec = importlib.util.spec_from_file_location(f"numaplace_mechanism_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except Exception as error:
        why = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
        raise UsageError(f"mechanism {path}: {why}: correct the file") from None
    own = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, Mechanism)
           and value.__module__ == module.__name__]
    if len(own) != 1:
        raise UsageError(f"mechanism {path}: has {len(own)} classes of Mechanism: it is to have one")
    return own[0]
