# SPDX-License-Identifier: GPL-2.0-only
"""sched_ext: a scheduler of numaplace's own in BPF, scx/home_node.bpf.c, which is told where each program's memory is."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from ..errors import CannotError
from ..host import mappings
from ..host.host_nodes import Node
from ..paths import HERE, cache
from .mechanism import Mechanism, Scope, missing

STATE = Path("/sys/kernel/sched_ext/state")
BPF = Path("/sys/fs/bpf")
PINNED = BPF / "numaplace-scx"
HOMES = BPF / "numaplace_homes"  # nodes by process, for a scheduler that has a map of this name
OLDEST = (7, 3)  # pins a scheduler's link


class SchedExt(Mechanism):
    """Registers a scheduler of numaplace's own, or a subclass's, and tells it where each program's memory is."""

    name = "sched-ext"
    about = "a scheduler in BPF that keeps each program on the node that has most of its memory when it is switched on (sched_ext)"
    scheduler: ClassVar[Path] = HERE.plugin.with_name("home_node.bpf.o")  # of a subclass, its own

    def lacks(self, nodes):
        """Returns why the scheduler cannot be registered here; None where it can."""
        why = super().lacks(nodes) or missing(STATE) or explain_missing_object(self.scheduler)
        if why or find_bpftool() is None:
            return why or f"bpftool {OLDEST[0]}.{OLDEST[1]} or newer is not installed: run make setup-check, or apt-get install bpftool"
        state = STATE.read_text(encoding="ascii").strip()
        return None if state == "disabled" else f"another scheduler of sched_ext is {state}: end it"

    def set_up(self, scope: Scope) -> None:
        """Mounts bpffs where it is missing and registers the scheduler; the guard undoes both. CannotError: a command fails."""
        if os.geteuid():  # before a step that nobody else could undo
            raise CannotError(f"mechanism {self.name}: a scheduler is the whole machine's: run as root")
        with scope.changing(self.name):
            if not os.path.ismount(BPF):
                scope.guard.run_at_end("umount", str(BPF))
                run_command("mount", "-t", "bpf", "bpf", str(BPF))
            scope.guard.run_at_end("rm", "-rf", str(PINNED), str(HOMES))  # a scheduler that is not pinned any more ends
            run_command(str(find_bpftool()), "struct_ops", "register", str(self.scheduler), str(PINNED))

    def attach(self, scope: Scope, pids: Sequence[int]) -> None:
        """Writes each program's home node to the map of the scheduler, where it has one."""
        for pid in pids if HOMES.exists() else ():
            home = find_home(pid, scope.nodes)
            if home is not None:
                run_command(str(find_bpftool()), "map", "update", "pinned", str(HOMES),
                            "key", *format_bytes(pid), "value", *format_bytes(home))


def find_home(pid: int, nodes: Sequence[Node]) -> int | None:
    """Finds, of the nodes with CPUs, the one with most of its pages; None of a process that has ended or has none there."""
    held_kib: Counter[int] = Counter()  # by node
    for kib_by_node in mappings.read_mappings(pid).values():
        held_kib.update({int(node): kib for node, kib in kib_by_node.items()})
    return max((node.id for node in nodes if node.cpus and held_kib[node.id]), key=held_kib.__getitem__, default=None)


def format_bytes(number: int) -> list[str]:
    """Formats a number as four bytes in the machine's order, as bpftool reads them."""
    return [str(byte) for byte in number.to_bytes(4, sys.byteorder)]


def find_bpftool() -> Path | None:
    """Finds this machine's bpftool, or that of a newer Debian which setup has unpacked; None where neither is new enough."""
    for program in (shutil.which("bpftool", path=os.environ.get("PATH", "") + ":/usr/sbin"), cache() / "bpftool/bin/bpftool"):
        if program and Path(program).exists() and read_version(program) >= OLDEST:
            return Path(program)
    return None


def read_version(program: str | Path) -> tuple[int, ...]:
    """Reads the first two numbers of the version that a program says; (0, 0) where it says none."""
    output = subprocess.run([program, "version"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL).stdout
    found = re.search(r"v(\d+)\.(\d+)", output)
    return tuple(map(int, found.groups())) if found else (0, 0)


def explain_missing_object(path: Path) -> str | None:
    """Returns that the scheduler is not built, and how to build it; None where it is."""
    remedy = "run make setup-check tools, or install clang and run make tools" if path == SchedExt.scheduler else "compile it"
    return None if path.exists() else f"there is no {path}: {remedy}"


def run_command(*words: str) -> None:
    """Runs a command. CannotError: its status is not 0."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        why = (done.stderr or done.stdout).strip().splitlines()
        raise CannotError(f"mechanism sched-ext: {' '.join(words[:3])}: {why[-1] if why else f'status {done.returncode}'}")
