# SPDX-License-Identifier: GPL-2.0-only
"""What the kernel's own mechanisms do on the machine that this runs on, cxl-3n; one JSON object a line.

    mechanisms_inside.py tiers|scans|demotion|promotion ..

A program walks 64 MiB by dependent loads from node 0. Times are of the machine's clock, settings the kernel's defaults.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

MIB = 64
PAGES = MIB * 256
LIMIT_S = 12
SCANS_S, LOOK_S = 5, 0.005
NODES = Path("/sys/devices/system/node")
TIERS = Path("/sys/devices/virtual/memory_tiering")
BALANCING = Path("/proc/sys/kernel/numa_balancing")
DEMOTION = Path("/sys/kernel/mm/numa/demotion_enabled")
GROUP = Path("/sys/fs/cgroup/numaplace-mechanisms")
WEIGHTS = Path("/sys/kernel/mm/mempolicy/weighted_interleave")
ACCESS = ("read_latency", "read_bandwidth")


def print_record(**values):
    print(json.dumps(values), flush=True)


def sum_counters(*names: str) -> dict[str, int]:
    """Returns, by each name, the sum of the counters of /proc/vmstat whose names begin with it."""
    rows = [line.split() for line in Path("/proc/vmstat").read_text(encoding="ascii").splitlines()]
    return {name: sum(int(value) for key, value in rows if key.startswith(name)) for name in names}


def print_tiers():
    """Prints the nodes of each memory tier, what firmware says of each node's memory, and the kernel's interleave weights."""
    nodes = sorted(NODES.glob("node[0-9]"))
    print_record(what="tiers", tiers=sorted((path / "nodelist").read_text().strip() for path in TIERS.glob("memory_tier[0-9]*")),
                 access={node.name: {name: int((node / "access0/initiators" / name).read_text()) for name in ACCESS} for node in nodes},
                 weights=[int((WEIGHTS / node.name).read_text()) for node in nodes] if WEIGHTS.exists() else None)


class Walk:
    """Runs a program with its pages where it first touched them: on the node that it runs on, 0."""

    def __init__(self, before_exec: Callable[[], None] | None = None, mib: int = MIB):
        """Starts the program on CPU 0 in the cgroup GROUP, with `mib` MiB in small pages, and waits until it has touched them."""
        GROUP.mkdir(exist_ok=True)
        join = f'echo $$ >{GROUP}/cgroup.procs; exec "$@"'
        chase = ["build/np-mem", "chase", "--size", f"{mib}M", "--cpus", "0", "--pages", "small"]
        self.process = subprocess.Popen(["taskset", "-c", "0", "sh", "-c", join, "sh", *chase], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, preexec_fn=before_exec)
        self.read_answer()

    def read_answer(self) -> dict:
        return json.loads(self.process.stdout.readline())

    def ask_program(self, command: str) -> dict:
        """Has the program do `command`, in np-mem's words, and returns its answer."""
        print(command, file=self.process.stdin, flush=True)
        return self.read_answer()

    def count_pages_on(self, node: int) -> int:
        return self.ask_program("pages")["pages"].get(str(node), 0)

    def move_pages(self, from_node: int, to_node: int):
        subprocess.run(["migratepages", str(self.process.pid), str(from_node), str(to_node)], check=True)

    def run_until_home(self) -> float | None:
        """Runs the program until all its pages are on node 0; returns the seconds. None: LIMIT_S was not enough."""
        start = time.monotonic()
        while (passed := time.monotonic() - start) < LIMIT_S:
            if self.count_pages_on(0) == PAGES:
                return passed
            self.ask_program("run 0.1")
        return None


@contextmanager
def start_walk(before_exec: Callable[[], None] | None = None, mib: int = MIB) -> Iterator[Walk]:
    """Starts the program with so many MiB, and kills it at the end of the block. before_exec: called in the child before exec."""
    walk = Walk(before_exec, mib)
    try:
        yield walk
    finally:
        walk.process.kill()
        walk.process.wait()


@contextmanager
def set_file(path: Path, value: str):
    """Writes a value into a file while the block runs, then the value of before."""
    before = path.read_text(encoding="ascii").strip()
    path.write_text(value, encoding="ascii")
    try:
        yield
    finally:
        path.write_text(before, encoding="ascii")


def read_scan_number(pid: int) -> str:
    """Reads how often NUMA balancing has come to the end of the process's memory; it looks at 256 MB at once."""
    return next(line.split()[-1] for line in Path(f"/proc/{pid}/sched").read_text(encoding="ascii").splitlines()
                if line.startswith("mm->numa_scan_seq"))


def measure_scans():
    """Prints when NUMA balancing has come to the end of the program's memory, in seconds from when it begins to run."""
    with start_walk() as walk, set_file(BALANCING, "1"):
        start, last_number, times_s = time.monotonic(), read_scan_number(walk.process.pid), []
        print(f"run {SCANS_S}", file=walk.process.stdin, flush=True)
        while (passed := time.monotonic() - start) < SCANS_S:
            if (number := read_scan_number(walk.process.pid)) != last_number:
                times_s.append(passed)
            last_number = number
            time.sleep(LOOK_S)
        walk.read_answer()
    print_record(what="scans", at=times_s)


def measure_promotion():
    """Moves the program's pages to node 2, and prints the s in which NUMA balancing promotes them, and how far its counter rises."""
    counter = "pgpromote_success"
    with start_walk() as walk:
        walk.move_pages(0, 2)
        moved = walk.count_pages_on(2)
        before = sum_counters(counter)
        with set_file(BALANCING, "2"):
            seconds = walk.run_until_home()
        after = sum_counters(counter)
    print_record(what="promotion", away=moved, seconds=seconds, counted=after[counter] - before[counter])


def measure_demotion():
    """Has the cgroup give up as much memory as the program has, and prints the pages that are demoted to node 2."""
    with start_walk() as walk, set_file(DEMOTION, "1"):
        before, home = sum_counters("pgdemote_"), walk.count_pages_on(0)
        try:
            (GROUP / "memory.reclaim").write_text(f"{MIB}M", encoding="ascii")
        except OSError:  # it gave up less
            pass
        print_record(what="demotion", home=home, away=walk.count_pages_on(2),
                     counted=sum_counters("pgdemote_")["pgdemote_"] - before["pgdemote_"])


WHAT = {"tiers": print_tiers, "scans": measure_scans, "demotion": measure_demotion, "promotion": measure_promotion}

if __name__ == "__main__":
    Path("/sys/fs/cgroup/cgroup.subtree_control").write_text("+memory", encoding="ascii")
    for argument in sys.argv[1:]:
        WHAT[argument]()
