# SPDX-License-Identifier: GPL-2.0-only
"""What a mechanism is: how it is switched on and off, what shows that it acts, and its parameters."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ..errors import CannotError, ExperimentError, UsageError
from ..host.guard import Guard
from ..host.host_nodes import Node, has_remote_memory, read_lab_scale
from ..host.topology import parse_list

TIERS = Path("/sys/devices/virtual/memory_tiering")


@dataclass(frozen=True)
class Parameter:
    """Describes a whole number that a level may give: its bounds and its default."""

    about: str  # what it sets, as words that follow its name
    low: int
    high: int
    default: int | None = None  # None: the kernel's own
    of_bytes: bool = False      # a size or a rate: a machine at 1/S of its speed has S times less


@dataclass(frozen=True)
class Scope:
    """Holds what a mechanism is switched on for: the machine's nodes, and the guard that undoes each change."""

    nodes: Sequence[Node]
    guard: Guard

    @contextmanager
    def changing(self, what: str) -> Iterator[None]:
        """Turns the kernel's refusal in this block, an OSError, into a CannotError of one line."""
        try:
            yield
        except OSError as error:
            why = "run as root" if isinstance(error, PermissionError) else "see the kernel's log"
            file = f"{error.filename}: " if error.filename else ""  # the kernel's refusal of a value names none
            raise CannotError(f"mechanism {what}: {file}{error.strerror}: {why}") from None


class Mechanism:
    """Describes a mechanism; subclasses say what differs. Nothing is changed but by set_up() and attach(), and every file
    through the guard."""

    name: ClassVar[str]
    about: ClassVar[str]
    parameters: ClassVar[dict[str, Parameter]] = {}
    files: ClassVar[dict[str, Path]] = {}     # of parameters that are files of the kernel's
    counters: ClassVar[tuple[str, ...]] = ()  # of /proc/vmstat: what it does is counted there
    threads: ClassVar[tuple[str, ...]] = ()   # kernel threads that work for it: how their names begin
    starts: ClassVar[bool] = False            # it acts on programs as they start, and on no others
    binds: ClassVar[bool] = False             # before_exec chooses the programs' CPUs

    def __init__(self, values: dict[str, int]) -> None:
        self.values = {name: parameter.default for name, parameter in self.parameters.items()} | values

    def read_values(self) -> dict[str, int | float | None]:
        """Returns the parameters; None: the kernel's own. In a machine of the lab at 1/S of its speed those of bytes are S times less, also
        the kernel's own; of one that is a file of the kernel's to the nearest whole number. CannotError: that would be less than 1."""
        scale, scaled = read_lab_scale(), dict(self.values)
        if scale == 1:
            return scaled
        for name, value in self._read_sizes().items():
            if name in self.files and value < scale:
                raise CannotError(f"mechanism {self.name}: {name}={value} is less than a whole number at 1/{scale} of the machine's speed: "
                                  f"give {scale} or more, or take more of its speed")
            scaled[name] = round(value / scale) if name in self.files else value / scale
        return scaled

    def describe_scaled(self) -> list[str]:
        """Describes each parameter that is less because the machine has a part of its speed; [] at full speed."""
        scale, scaled = read_lab_scale(), self.read_values()
        if scale == 1:
            return []
        return [f"{self.name}: {name} is {scaled[name]:g} in the place of {value} at 1/{scale} of the machine's speed"
                for name, value in self._read_sizes().items()]

    def _read_sizes(self) -> dict[str, int]:
        """Reads the parameters of bytes as they are at full speed: the kernel's own from their files."""
        sizes = {name: self.values[name] for name, parameter in self.parameters.items() if parameter.of_bytes}
        return {name: int(self.files[name].read_text(encoding="ascii")) if value is None else value for name, value in sizes.items()}

    def call(self, method: str, *arguments: Any) -> Any:
        """Calls a method, of which whatever goes wrong is an ExperimentError of one line with its place: the file may be the user's."""
        try:
            return getattr(self, method)(*arguments)
        except ExperimentError:
            raise
        except (Exception, SystemExit) as error:
            place = locate_error(error, getattr(type(self), method))
            raise ExperimentError(f"mechanism {self.name}: {method}(): {place}{type(error).__name__}: {error}") from None

    def lacks(self, nodes: Sequence[Node]) -> str | None:
        """Returns why it cannot be switched on here, and what to do; None where it can. A subclass asks this one too."""
        if not has_remote_memory(nodes):
            return "this machine has one node with memory: take one of the lab, with --lab 2x2"
        return None

    def set_up(self, scope: Scope) -> None:
        """Switches the mechanism on. The runner calls it once an observation: before the programs start, or, where the suite places
        them itself, just before attach().

        It may change files of the kernel through scope.guard, which undoes that at the end of the observation. A CannotError ends
        the run, any other exception marks the observation. The base class changes nothing."""

    def before_exec(self, nodes: Sequence[Node]) -> Callable[[], None]:
        """Returns a function without arguments, which the runner calls in each program's new process, between fork() and exec().

        The runner calls before_exec() after set_up(), only for programs that the kernel places. The function may set CPUs (the
        class then has `binds`) or the memory policy of its process; an exception of it keeps the program from starting."""
        return lambda: None

    def attach(self, scope: Scope, pids: Sequence[int]) -> None:
        """Acts on the programs. The runner calls it once an observation, after set_up(), when all of them run and before they are
        measured; `pids` are all their processes.

        It may move them into cgroups and write files, through scope.guard, and start helpers that tear_down() ends. A CannotError
        ends the run, any other exception marks the observation. The base class does nothing."""

    def tear_down(self) -> None:
        """Ends the processes that set_up() or attach() started. The runner calls it after each observation, also after one that failed
        before attach(), while the programs still run.

        It need undo nothing else: the guard does that after it. An exception of it marks the observation."""


class Switch(Mechanism):
    """Describes a mechanism of the kernel's that is switched on by files, `switches`; its parameters are files too."""

    switches: ClassVar[dict[Path, str]]  # what is written to each, in this order

    def lacks(self, nodes):
        """Returns why it cannot be switched on here: also that a file is missing; None where it can."""
        given = [path for name, path in self.files.items() if self.values[name] is not None]
        return super().lacks(nodes) or missing(*self.switches, *given)

    def set_up(self, scope: Scope) -> None:
        """Writes the parameters that have a value, then the switches; the guard undoes both. CannotError: the kernel refuses one."""
        with scope.changing(self.name):
            for name, value in self.read_values().items():
                if value is not None:
                    scope.guard.write(self.files[name], str(value))
            for path, value in self.switches.items():
                scope.guard.write(path, value)


def locate_error(error: Exception, function: Callable[..., object]) -> str:
    """Returns 'FILE, line N: ' of the function's file; '' where it was not entered."""
    file = getattr(getattr(function, "__code__", None), "co_filename", "")
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f"{file}, line {lines[-1]}: " if lines else ""


def missing(*paths: Path) -> str | None:
    """Returns that the first of the paths that is not there is missing, or may not be looked for; None where all are there."""
    for path in paths:
        try:
            path.stat()
        except PermissionError:
            return f"{path} may not be looked for: run as root"
        except OSError:
            return f"this kernel has no {path}"
    return None


def list_tiers() -> list[tuple[int, ...]]:
    """Lists the nodes by memory tier, the fastest first; empty where the kernel knows none."""
    found = sorted(TIERS.glob("memory_tier*"), key=lambda path: int(path.name.removeprefix("memory_tier")))
    return [parse_list(text) for path in found if (text := (path / "nodelist").read_text(encoding="ascii").strip())]


def explain_one_tier() -> str | None:
    """Returns that the machine has one memory tier only, and what to do; None where it has more."""
    return None if len(list_tiers()) > 1 else "this machine has one memory tier: take one with slower memory, such as cxl-3n"


def parse_values(mechanism: type[Mechanism], text: str) -> dict[str, int]:
    """Parses 'scan_delay_ms=100,scan_size_mb=64' to values by name. UsageError: no such parameter, or not within its bounds."""
    values = {}
    for word in text.split(",") if text else []:
        name, _, number = word.partition("=")
        parameter = mechanism.parameters.get(name)
        if parameter is None:
            raise UsageError(f"mechanism {mechanism.name} has no parameter '{name}': it has {', '.join(mechanism.parameters) or 'none'}")
        if not re.fullmatch(r"\d+", number) or not parameter.low <= int(number) <= parameter.high:
            raise UsageError(f"mechanism {mechanism.name}: {name}={number}: a whole number from {parameter.low} to {parameter.high}")
        values[name] = int(number)
    return values
