# SPDX-License-Identifier: GPL-2.0-only
"""`numaplace trace` with every script, and perf, during one sequence of events: their numbers are the module's.

One sequence for all, and the scripts joined to one program, since the start of bpftrace takes long.
With NUMAPLACE_TRACE_ALONE=1 each script runs in a bpftrace of its own.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import driver
import pytest
import tracefs

TOOL = driver.TOP / "build" / "numaplace"
SCRIPTS = driver.TOP / "userspace" / "tracing"
ALONE = os.environ.get("NUMAPLACE_TRACE_ALONE") == "1"
PAGES = 1024
START = 500  # s that bpftrace may take on a busy computer, to read the types of an emulated kernel
BALANCING = Path("/proc/sys/kernel/numa_balancing")
# With a policy of its own a tracer's pages are not looked at by NUMA balancing.
UNBALANCED = ["numactl", "--membind=0,1"]
# perf first looks at every file of /lib/modules, which takes minutes over the lab's shared file system.
NO_MODULES = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /lib/modules; exec "$@"', "sh"]
MOVED = ("pgmigrate_success", "numa_pages_migrated")
TASK_MOVES = {"moved": "sched_move_numa", "swapped": "sched_swap_numa", "stuck": "sched_stick_numa"}
# Touches memory that it got on CPU 0 from the CPUs of the other node, for ever.
AFAR = """
import os
os.sched_setaffinity(0, {0})
memory = bytearray(8 << 20)
for i in range(0, len(memory), 4096): memory[i] = 1
os.sched_setaffinity(0, {2, 3})
print("ready", flush=True)
while True:
    for i in range(0, len(memory), 4096): memory[i] = 1
"""
# Its pages may not leave node 0 (MPOL_BIND with MPOL_F_NUMA_BALANCING), so that the kernel would move the task.
HELD = f"""
import ctypes
if ctypes.CDLL(None).syscall(238, 2 | 1 << 13, ctypes.byref(ctypes.c_ulong(1)), 64): raise SystemExit("set_mempolicy")
{AFAR}
"""


def joined() -> str:
    """All scripts as one program: bpftrace allows one BEGIN and one END."""
    first, last, directives, probes = "", "", "", ""
    for path in sorted(SCRIPTS.glob("*.bt")):
        text = path.read_text().split("*/\n", 1)[1]
        first += re.search(r"^BEGIN\n{\n(.*?)^}\n", text, re.MULTILINE | re.DOTALL)[1]
        last += re.search(r"^END\n{\n(.*?)^}\n", text, re.MULTILINE | re.DOTALL)[1]
        directives += "".join(re.findall(r"^#.*\n", text, re.MULTILINE))
        probes += re.sub(r"^#.*\n|^(BEGIN|END)\n{\n(.|\n)*?^}\n", "", text, flags=re.MULTILINE)
    return f"{directives}\nBEGIN\n{{\n{first}}}\n{probes}\nEND\n{{\n{last}}}\n"


class Tracer:
    """A program that says a word when it is ready; what it says goes to a file. It ends by itself or by Ctrl-C."""

    def __init__(self, folder: Path, name: str, command: list, ready: str, ends_itself: bool = False):
        self.file = folder / name
        self.ready_word = ready
        self.ends_itself = ends_itself
        with self.file.open("w") as out:
            self.process = subprocess.Popen([*UNBALANCED, *map(str, command)], stdout=out, stderr=subprocess.STDOUT,
                                            env=os.environ | (tracefs.headers() if "bpftrace" in command else {}))

    def said(self) -> str:
        return self.file.read_text()

    def is_ready(self) -> bool:
        assert self.process.poll() is None, self.said()
        return self.ready_word in self.said()

    def wait_ready(self):
        assert driver.eventually(self.is_ready, START), self.said()

    def end(self) -> str:
        if not self.ends_itself:
            self.process.send_signal(signal.SIGINT)
        self.status = self.process.wait(START)
        return self.said()


def faults(pid: int) -> int:
    words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(words[7]) + int(words[9])


def is_stopped(pid: int, tid: int) -> bool:
    return Path(f"/proc/{pid}/task/{tid}/stat").read_text().rsplit(") ", 1)[1][0] == "T"


def vmstat(name: str) -> int:
    return int(re.search(rf"^{name} (\d+)$", Path("/proc/vmstat").read_text(), re.MULTILINE)[1])


@contextlib.contextmanager
def balancing():
    """NUMA balancing, and programs that it has reason to act upon."""
    knobs = Path("/sys/kernel/debug/sched/numa_balancing")
    quick = {knobs / "scan_delay_ms": "50", knobs / "scan_period_min_ms": "100", BALANCING: "1"}
    before = {knob: knob.read_text() for knob in quick}
    programs = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
                for code in (AFAR, HELD)]
    try:
        assert all(program.stdout.readline() == "ready\n" for program in programs)
        for knob, value in quick.items():
            knob.write_text(value)
        yield
    finally:
        for knob, value in before.items():
            knob.write_text(value)
        for program in programs:
            program.kill()
            program.communicate()


class Story:
    """What happened, by the module's files, by /proc and by tracefs; and what each tracer said of it."""

    def __init__(self, folder: Path):
        self.fifo = folder / "fifo"
        os.mkfifo(self.fifo)
        self.word = os.open(self.fifo, os.O_RDWR)
        self.target = driver.Target("anon", PAGES, 0, 1)
        os.kill(self.target.pid, signal.SIGSTOP)  # no page fault until all are ready
        self.tracers = self.start(folder)
        try:
            for tracer in self.tracers.values():
                tracer.wait_ready()
            with tracefs.recording("numaplace", *(f"sched/{event}" for event in TASK_MOVES.values())) as seen:
                self.watch(seen)
            self.said = {name: tracer.end() for name, tracer in self.tracers.items()}
            self.moved_at_end = self.moved_by_kernel()
            for path in SCRIPTS.glob("*.bt"):
                self.said.setdefault(path.stem, self.said.get("all", ""))
        finally:
            for tracer in self.tracers.values():
                tracer.process.kill()
            self.target.stop()
            os.close(self.word)

    def start(self, folder: Path) -> dict[str, Tracer]:
        pid = self.target.pid
        until_told = ["sh", "-c", f"echo ready; read line <{self.fifo}; exit 0"]
        commands = {
            "migrations": [TOOL, "trace", "migrations", pid, "--", "sh", "-c", f"read line <{self.fifo}; exit 7"],
            "kernel": [TOOL, "trace", "kernel"],
            **{name: [TOOL, "trace", name, pid] for name in ("copies", "placements", "latency", "faults")},
        }
        if not ALONE:
            (folder / "all.bt").write_text(joined())
            commands = {"migrations": commands["migrations"], "all": ["bpftrace", folder / "all.bt"]}
        tracers = {name: Tracer(folder, name, command, "Tracing", ends_itself="--" in command)
                   for name, command in commands.items()}
        for what in (["record", "-q", "-o", folder / "perf.data"], ["stat", "-x,", "-o", folder / "perf.stat"]):
            perf = [*NO_MODULES, "perf", *what, "-a", "-e", "numaplace:*", "--", *until_told]
            tracers[what[0]] = Tracer(folder, what[0], perf, "ready", ends_itself=True)
        return tracers

    def watch(self, seen):
        os.kill(self.target.pid, signal.SIGCONT)
        self.tids = self.target.tids()
        self.before = {name: vmstat(name) for name in MOVED}
        before = driver.stats(), faults(self.target.pid)
        self.happen(seen)
        os.kill(self.target.pid, signal.SIGSTOP)
        assert driver.eventually(lambda: all(is_stopped(self.target.pid, tid) for tid in self.tids))
        self.events = seen()
        self.stats = Counter(driver.stats())
        self.stats.subtract(before[0])
        self.faults = faults(self.target.pid) - before[1]
        self.moved = self.moved_by_kernel()
        # A line for each command that a tracer runs, even for one that comes to read it later.
        os.write(self.word, b"\n" * sum(tracer.ends_itself for tracer in self.tracers.values()))

    def moved_by_kernel(self) -> dict[str, int]:
        return {name: vmstat(name) - self.before[name] for name in MOVED}

    def happen(self, seen):
        t = self.target
        self.fresh = {"no move": t.ask("fresh 300")}
        self.moves = [t.move("0", 1), t.move("1", 0), driver.migrate(f"pid={t.pid} from=any to=0")]
        moving = driver.Moving(t.pid, t.range())
        assert driver.eventually(lambda: t.where().get("1", 0) > 0)
        self.fresh["during a move"] = t.ask("fresh 200")
        moving.end()
        driver.write("place", f"pid={t.pid} cpus=2-3 mem=caller")
        driver.write("restore", f"pid={t.pid}")
        subprocess.run(["migratepages", str(t.pid), "0", "1"], check=True)
        pages = vmstat("numa_pages_migrated")
        with balancing():
            assert driver.eventually(lambda: vmstat("numa_pages_migrated") > pages and any(
                name in TASK_MOVES.values() for name, _ in seen()), 120)

    def batches(self) -> list[dict[str, int]]:
        return [{key: int(value, 0) for key, value in fields.items()}
                for name, fields in self.events if name == "batch"]

    def map(self, script: str, name: str) -> dict[tuple[str, ...], int]:
        """A map of a script as it was at the end."""
        found = re.findall(rf"^@{name}\[(.*)\]: (\d+)$", self.said[script], re.MULTILINE)
        return {tuple(key.split(", ")): int(value) for key, value in found}

    def histogram(self, script: str, name: str) -> int:
        """How many values are in one."""
        part = re.search(rf"^@{name}: *\n((?:[\[(].*\n)+)", self.said[script], re.MULTILINE)
        return sum(int(number) for number in re.findall(r"[)\]] +(\d+) \|", part[1])) if part else 0


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    if not driver.is_loaded():
        assert driver.load() == 0
    began = time.monotonic()
    story = Story(tmp_path_factory.mktemp("trace"))
    print(f"{time.monotonic() - began:.0f} s")
    for name, said in story.said.items():
        print(f"--- {name}\n{said}")
    return story


def test_scripts_end_in_order(story):
    assert all(re.search(r"^Tracing .* Hit Ctrl-C to end\.$", said, re.MULTILINE)
               for name, said in story.said.items() if name not in ("record", "stat"))
    assert "ERROR" not in "".join(story.said.values())
    assert {name: tracer.status for name, tracer in story.tracers.items()} == {
        **dict.fromkeys(story.tracers, 0), "migrations": 7}


def test_migrations_agree_with_the_totals(story):
    pid, stats = str(story.target.pid), story.stats
    pages = {(pid, name): stats[name] for name in driver.COUNTS if stats[name]}
    assert {"moved", "absent"} <= {name for _, name in pages}
    assert story.map("migrations", "pages") == pages
    assert story.map("migrations", "bytes") == {(pid,): stats["bytes"]}
    said = story.said["migrations"]
    assert len(re.findall(rf" {pid} +[01] +begins$", said, re.MULTILINE)) == stats["moves"] + stats["moves_ended_early"]
    for move in story.moves:
        assert re.search(rf" {pid} +-  ends: error 0, {move['moved']} pages, {int(move['bytes']) // 1024} KiB, "
                         rf"{int(move['ns']) // 1000000} ms, longest unmapped {move['longest_unmapped_us']} us\n", said)


def test_copies_agree_with_the_totals(story):
    assert story.map("copies", "kib") == {(str(story.target.pid),): story.stats["bytes"] // 1024}
    assert re.search(r"^\d\d:\d\d:\d\d$", story.said["copies"], re.MULTILINE)


def test_latencies_are_those_of_the_batches(story):
    batches = story.batches()
    worked = sum(b["setup_ns"] > 0 for b in batches)
    assert worked > 2
    for name in ("batch_us", "unmap_us", "copy_us", "map_us", "unmapped_us"):
        assert story.histogram("latency", name) == worked, name
    assert story.histogram("latency", "page_ns") == sum(b["setup_ns"] > 0 and b["moved"] > 0 for b in batches)
    assert story.histogram("latency", "move_us") == story.stats["moves"] + story.stats["moves_ended_early"]


def test_placements_say_who(story):
    said, pid = story.said["placements"], story.target.pid
    by = re.escape(Path("/proc/self/comm").read_text().strip())
    for tid in story.tids:
        for what in ("2 CPUs from 2 on, error 0", "memory policy default, 0 nodes from -1 on, error 0",
                     "restored, error 0"):
            assert len(re.findall(rf" {by} +{tid} +{pid} +{what}$", said, re.MULTILINE)) == 1, (tid, what, said)


def test_kernels_own_moves_agree_with_vmstat(story):
    """Pages that NUMA balancing had marked move even after it was turned off, while the tracers end."""
    pages = story.map("kernel", "kernel_pages")
    said = {"pgmigrate_success": sum(pages.values()),
            "numa_pages_migrated": sum(n for key, n in pages.items() if key[0] == "numa_misplaced")}
    assert story.moved["numa_pages_migrated"] > 0
    for name in MOVED:
        assert story.moved[name] <= said[name] <= story.moved_at_end[name], name
    assert any(key[:2] == ("syscall_or_cpuset", "migratepages") for key in pages)
    assert story.map("kernel", "our_pages") == {(str(story.target.pid),): story.stats["moved"]}


def test_kernels_moves_of_tasks_are_those_of_the_events(story):
    said, real = Counter(), Counter()
    for (kind, *_), n in story.map("kernel", "tasks").items():
        said[kind] += n
    for kind, event in TASK_MOVES.items():
        real[kind] = sum(name == event for name, _ in story.events)
    assert said == real and real.total() > 0


def test_faults_agree_with_the_process(story):
    pid = str(story.target.pid)
    said = {key: n for key, n in story.map("faults", "faults").items() if key[0] == pid}
    assert sum(said.values()) == story.faults
    for when, where in story.fresh.items():
        for node, pages in (pair.split(":") for pair in where.split() if not pair.startswith("absent")):
            assert said[pid, when, node] >= int(pages)
    new = sum(n for key, n in said.items() if key[2] != "-1")
    assert 500 <= new <= 520, said


def test_perf_counts_are_the_modules(story):
    lines = (story.tracers["stat"].file.parent / "perf.stat").read_text().splitlines()
    counts = {words[2].removeprefix("numaplace:"): int(words[0])
              for words in (line.split(",") for line in lines) if len(words) > 2}
    stats = story.stats
    moves = stats["moves"] + stats["moves_ended_early"]
    assert counts == {"move_begin": moves, "batch": len(story.batches()), "move_end": moves,
                      "place": stats["placed"], "policy": stats["policies"],
                      "restore": stats["restored"] + stats["kept_by_user"]}


def test_perf_script_has_the_fields(story):
    data = story.tracers["record"].file.parent / "perf.data"
    text = subprocess.run([*NO_MODULES, "perf", "script", "-i", data],
                          capture_output=True, text=True, check=True).stdout
    ours = [event for event in story.events if event[0] not in TASK_MOVES.values()]
    assert sorted(map(str, tracefs.parse(text))) == sorted(map(str, ours))
    assert len(ours) > 10
