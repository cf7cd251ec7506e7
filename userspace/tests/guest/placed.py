# SPDX-License-Identifier: GPL-2.0-only
"""The command line and programs to be placed, inside the lab: two nodes of two CPUs."""
import ctypes
import json
import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.target.process import TargetProcess, copy_for_everybody
from tests.waiting import eventually

ROOT = Path(__file__).resolve().parents[3]
TOOL = ROOT / "build" / "numaplace"
DEBUGFS = Path("/sys/kernel/debug/numaplace")
NODE_CPUS = {0: "0-1", 1: "2-3"}
LIBNUMA = ctypes.CDLL("libnuma.so.1", use_errno=True)
MIB = 1 << 20
PAGE = 4096
PATIENCE = 240     # s, for what happens at once; a busy host lets the whole machine wait


def is_module_loaded() -> bool:
    return (DEBUGFS / "version").exists()


def find_module_file() -> Path | None:
    """The module that was built for this kernel."""
    for path in sorted((ROOT / "build" / "modules").glob("*/numaplace.ko")):
        magic = subprocess.run(["/sbin/modinfo", "-F", "vermagic", path], text=True,
                               capture_output=True, check=True).stdout
        if magic.split()[0] == os.uname().release:
            return path
    return None


def find_tool(process: dict) -> Path:
    """The command line for a process with these arguments of Popen."""
    return copy_for_everybody(TOOL) if "user" in process else TOOL


class Tool:
    """numaplace, with --json. Targets are started by numactl, whose CPUs count as chosen for them:
    plans for them say --override. A plan is applied whatever is predicted of it."""

    def __init__(self, override: bool = True) -> None:
        self.override = override

    def run(self, *words: object, **kwargs) -> subprocess.CompletedProcess[str]:
        if self.override and words[0] in ("plan", "apply") and not {"--plan", "--show"} & set(words):
            words = (words[0], "--override", *["--least-gain", "0"] * (words[0] == "apply"), *words[1:])
        return subprocess.run([find_tool(kwargs), *map(str, words)], text=True, capture_output=True,
                              timeout=120, check=False, **kwargs)

    def __call__(self, *words: object) -> dict:
        done = self.run(*words, "--json")
        assert done.returncode == 0, f"{words}: {done.returncode} {done.stdout} {done.stderr}"
        return json.loads(done.stdout)

    def fails(self, *words: object, **kwargs) -> tuple[int, str]:
        """Exit status and the one line on standard error."""
        done = self.run(*words, **kwargs)
        assert done.returncode != 0, done.stdout
        assert done.stdout == "" and done.stderr.count("\n") == 1, done
        return done.returncode, done.stderr


def wait_until(true: Callable[[], bool], what: object = "it") -> None:
    """what: what has to happen, or a function that says so when it did not."""
    assert eventually(true, PATIENCE), f"never happened: {what() if callable(what) else what}"


def remove_group(group: Path) -> None:
    """Of version 2. A task counts until the kernel has switched away from it: after its parent knows its end."""
    wait_until(lambda: "populated 0" in (group / "cgroup.events").read_text(), f"{group} is empty")
    group.rmdir()


class Target(TargetProcess):
    """A target on CPUs of a node with its memory on another."""

    def __init__(self, cpus: int | str, memory: int | str, wrap: tuple = (), **kwargs) -> None:
        super().__init__(wrap=(*wrap, "numactl", f"--cpunodebind={cpus}", f"--membind={memory}"),
                         start_new_session=True, **kwargs)

    def pages(self, pattern: str = "") -> dict[int, int]:
        """Anonymous pages by node, of the lines of numa_maps that match."""
        total = {0: 0, 1: 0}
        for line in Path(f"/proc/{self.pid}/numa_maps").read_text().splitlines():
            if ("file=" in line and not pattern) or not re.search(pattern, line):
                continue
            size = re.search(r"kernelpagesize_kB=(\d+)", line)
            for node, count in re.findall(r" N(\d+)=(\d+)", line):
                total[int(node)] += int(count) * (int(size[1]) // 4 if size else 1)
        return total

    def policy(self) -> str:
        """The memory policy of the task, as its plain mappings show it."""
        return Path(f"/proc/{self.pid}/numa_maps").read_text().split()[1]

    def cpus(self) -> set[str]:
        """What its threads may run on: a set of lists, one element when all agree."""
        found = set()
        for status in Path(f"/proc/{self.pid}/task").glob("*/status"):
            try:
                found.add(re.search(r"Cpus_allowed_list:\s*(\S+)", status.read_text())[1])
            except (FileNotFoundError, ProcessLookupError):
                pass
        return found

    def set_deadline(self) -> None:
        """The kernel grants its bandwidth for all CPUs, and refuses fewer."""
        os.sched_setaffinity(self.pid, range(4))
        subprocess.run(["chrt", "--deadline", "--sched-runtime", "1000000", "--sched-deadline", "10000000",
                        "--sched-period", "10000000", "-p", "0", str(self.pid)], check=True)

    def end(self) -> None:
        if self.process.returncode is None:
            os.killpg(self.pid, signal.SIGKILL)     # with the child that it may have
            self.process.communicate()


def away(start_target, mib: int = 16) -> Target:
    """A program on node 1 whose memory is on node 0."""
    target = start_target(cpus=1, memory=0)
    target.allocate(mib)
    return target


def share_on(target: Target, node: int) -> float:
    pages = target.pages()
    return pages[node] / sum(pages.values())


def list_nodes(target: Target, mib: int) -> list[int]:
    """The node of every page of the target's one area of that size, in address order."""
    for line in Path(f"/proc/{target.pid}/maps").read_text().splitlines():
        start, end = (int(x, 16) for x in line.split()[0].split("-"))
        if end - start == mib * MIB:
            break
    else:
        raise AssertionError("the area is not there")
    count = (end - start) // PAGE
    pages = (ctypes.c_void_p * count)(*range(start, end, PAGE))
    status = (ctypes.c_int * count)()
    assert LIBNUMA.numa_move_pages(target.pid, ctypes.c_ulong(count), pages, None, status, 0) == 0
    return list(status)


def count_on_node_1(nodes: list[int]) -> float:
    """Of pages on node 1, after checking that every page is on a node."""
    assert set(nodes) <= {0, 1}, f"{sorted(set(nodes))[:4]}"
    return sum(nodes) / len(nodes)
