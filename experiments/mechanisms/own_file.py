# SPDX-License-Identifier: GPL-2.0-only
"""A mechanism of the user's: the one class of it that a file of Python has."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from ..errors import UsageError
from .mechanism import Mechanism, Parameter

HOOKS = ("set_up", "before_exec", "attach")


def load_class(path: Path) -> type[Mechanism]:
    """Loads the one class of Mechanism of a file. UsageError: the file fails, has not one class, or find_fault() finds a fault."""
    try:
        spec = importlib.util.spec_from_file_location(f"numaplace_mechanism_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        why = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
        raise UsageError(f"mechanism {path}: {why}: correct the file") from None
    classes = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, Mechanism)
           and value.__module__ == module.__name__]
    if len(classes) != 1:
        raise UsageError(f"mechanism {path}: has {len(classes)} classes of Mechanism: it is to have one")
    if why := find_fault(classes[0]):
        raise UsageError(f"mechanism {path}: {why}: correct the file")
    return classes[0]


def find_fault(mechanism: type[Mechanism]) -> str | None:
    """Returns what is wrong with a mechanism's class, as the end of a sentence; None where nothing is."""
    for name in ("name", "about"):
        if not isinstance(getattr(mechanism, name, None), str):
            return f"class {mechanism.__name__} has no '{name}'"
    if not isinstance(mechanism.parameters, dict) or not all(isinstance(p, Parameter) for p in mechanism.parameters.values()):
        return "parameters: is no table of Parameter"
    for name, p in mechanism.parameters.items():
        if not all(isinstance(value, int) for value in (p.low, p.high, 0 if p.default is None else p.default)):
            return f"parameter {name}: takes whole numbers"
        if p.low > p.high or p.default is not None and not p.low <= p.default <= p.high:
            return f"parameter {name}: {p.low} to {p.high}, default {p.default}"
    if mechanism.__init__ is not Mechanism.__init__:
        return f"class {mechanism.__name__} has an __init__() of its own: take set_up()"
    if all(getattr(mechanism, hook) is getattr(Mechanism, hook) for hook in HOOKS):
        return f"has none of {', '.join(f'{hook}()' for hook in HOOKS)}: it does nothing"
    return None
