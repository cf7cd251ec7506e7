# SPDX-License-Identifier: GPL-2.0-only
"""What mechanisms do to a program, and what they leave behind, on the machine that this runs on; one JSON object a line.

    act_inside.py NAME[:PARAMETER=VALUE,..] ..     each of them on a program whose pages are where the mechanism is to move
                                                   them from, and then its end
    act_inside.py --killed NAME ..                 each of them in a process that is killed by SIGKILL
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from experiments.bench.lab.tests.mechanisms_inside import GROUP, MIB, start_walk
from experiments.host import host_nodes
from experiments.host.guard import Guard
from experiments.host.process import read_processes, set_cpus
from experiments.mechanisms import activity, registry
from experiments.mechanisms.mechanism import Scope
from tests.waiting import eventually

LIMIT_S = 120
NUMAD_MIB = 400  # it leaves small programs alone
# Where its pages are before; those of a program that starts under it are where they first are.
AWAY = {"numa-balancing": 1, "tiering": 2, "demotion": 0, "damon": 2, "numad-daemon": 1, "cpuset": 1, "daemon": 1, "sched-ext": 1}
KEPT = ("/proc/sys/kernel/numa_balancing", "/proc/sys/kernel/numa_balancing_promote_rate_limit_MBps",
        "/sys/kernel/debug/sched/numa_balancing/*", "/sys/kernel/mm/numa/demotion_enabled",
        "/sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds", "/sys/module/damon_stat/parameters/enabled",
        "/sys/fs/cgroup/cgroup.subtree_control", "/sys/kernel/sched_ext/state", "/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs")


def read_state() -> dict[str, str]:
    """Reads everything that a mechanism may change."""
    found = {str(path): path.read_text() for pattern in KEPT for path in Path("/").glob(pattern[1:])}
    found["bpf"] = f"{os.path.ismount('/sys/fs/bpf')} {sorted(path.name for path in Path('/sys/fs/bpf').iterdir())}"
    found["cgroups"] = " ".join(sorted(path.name for path in Path("/sys/fs/cgroup").iterdir() if path.is_dir()))
    found["daemons"] = " ".join(sorted(name for name in list_running() if name.startswith(("numad", "numaplace", "kdamond"))))
    return found


def list_running() -> list[str]:
    """Lists the names of processes, without those that have ended: nothing reaps them here."""
    stats = [content.decode(errors="replace") for _, content in read_processes("stat")]
    return [text[text.index("(") + 1:text.rindex(")")] for text in stats if text[text.rindex(")") + 2] != "Z"]


def list_differences(before: dict[str, str]) -> list[str]:
    """Lists what differs now from the state before, a line each."""
    after = read_state()
    return [f"{key}: {before.get(key)!r}, then {after.get(key)!r}" for key in before.keys() | after.keys()
            if before.get(key) != after.get(key)]


@contextmanager
def switch_on(level: str, guard: Guard):
    """Switches the mechanism on, with a program under it that has its pages away from where the mechanism wants them."""
    mechanism, nodes = registry.make_mechanism(level), host_nodes.list_nodes()
    scope = Scope(nodes, guard)
    if why := mechanism.lacks(nodes):
        raise SystemExit(f"{level}: {why}")
    with start_walk(mechanism.before_exec(nodes), NUMAD_MIB if mechanism.name == "numad-daemon" else MIB) as one, guard.open_scope():
        if mechanism.name in AWAY:
            one.move_pages(0, AWAY[mechanism.name])
        if mechanism.name == "sched-ext":
            set_cpus(one.process.pid, (cpu for node in nodes for cpu in node.cpus))
        before = one.ask_program("pages")["pages"], activity.read_activity(mechanism.counters, mechanism.threads)
        mechanism.set_up(scope)
        mechanism.attach(scope, [one.process.pid])
        try:
            yield mechanism, one, before
        finally:
            mechanism.tear_down()


def read_scheduler(pid: int) -> str:
    """Reads the name of the scheduler in BPF by which the process's tasks are scheduled; "" where by none."""
    ops = Path("/sys/kernel/sched_ext/root/ops")
    under = re.search(r"ext\.enabled\s*:\s*1$", Path(f"/proc/{pid}/sched").read_text(), re.MULTILINE)
    return ops.read_text().strip() if under and ops.exists() else ""


def read_last_cpus(pid: int) -> set[int]:
    """Reads the CPUs on which its threads ran last."""
    return {int(task.read_text().rpartition(")")[2].split()[36]) for task in Path(f"/proc/{pid}/task").glob("*/stat")}


def reclaim_memory():
    """Makes demotion act: the program's cgroup gives up half of its memory."""
    try:
        (GROUP / "memory.reclaim").write_text(f"{MIB // 2}M", encoding="ascii")
    except OSError:  # it gave up less
        pass


def is_at_first(one, node: int, pages: int) -> bool:
    """Checks whether many of its pages are still there, and it runs on the node on which it began."""
    return one.count_pages_on(node) > 0.1 * pages and not read_last_cpus(one.process.pid).isdisjoint(host_nodes.list_nodes()[0].cpus)


def check_acting(level: str):
    """Prints what the mechanism did to a program, and what it has left behind."""
    unchanged = read_state()
    with Guard() as guard:
        with switch_on(level, guard) as (mechanism, one, (pages, counted)):
            start = time.monotonic()
            if mechanism.name == "demotion":
                reclaim_memory()
            elif not mechanism.starts:
                while is_at_first(one, AWAY[mechanism.name], sum(pages.values())) and time.monotonic() - start < LIMIT_S:
                    one.ask_program("run 1")
            now = one.ask_program("pages")["pages"]
            seen = activity.compute_difference(counted, activity.read_activity(mechanism.counters, mechanism.threads))
            pid = one.process.pid
            where = {"cpus": sorted(os.sched_getaffinity(pid)), "ran_on": sorted(read_last_cpus(pid)), "scheduler": read_scheduler(pid)}
        left = list_differences(unchanged)
    print(json.dumps({"level": level, "before": pages, "after": now, **where, **seen, "left": left}), flush=True)


def hold_under(level: str):
    """Holds the mechanism until it is killed."""
    with Guard() as guard, switch_on(level, guard):
        print("set up", flush=True)
        signal.pause()


def check_killed(level: str):
    """Prints what a runner that is killed has changed, and what it has left behind."""
    unchanged = read_state()
    child = subprocess.Popen([sys.executable, __file__, "--under", level], stdout=subprocess.PIPE, text=True)
    said = child.stdout.readline().strip()
    changed = list_differences(unchanged)
    child.send_signal(signal.SIGKILL)
    child.wait()
    subprocess.run(["pkill", "-KILL", "np-mem"], check=False)  # a workload's programs die with the runner
    eventually(lambda: not list_differences(unchanged), LIMIT_S)
    print(json.dumps({"level": level, "said": said, "changed": changed, "left": list_differences(unchanged)}), flush=True)


WHAT = {"--killed": check_killed, "--under": hold_under}

if __name__ == "__main__":
    words = sys.argv[1:]
    what = WHAT.get(words[0], check_acting)
    if what is not hold_under:
        GROUP.mkdir(exist_ok=True)
        Path("/sys/fs/cgroup/cgroup.subtree_control").write_text("+memory", encoding="ascii")
    os.environ.setdefault("HOME", "/tmp")
    for word in words[what is not check_acting:]:
        what(word)
