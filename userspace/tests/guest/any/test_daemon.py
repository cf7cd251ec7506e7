# SPDX-License-Identifier: GPL-2.0-only
"""The daemon over real programs: what it did is read from /proc, not from it."""
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from placed import NODE_CPUS, TOOL, Target, Tool, away, find_module_file, remove_group, share_on, wait_until
from prometheus_client.parser import text_string_to_metric_families

BACK_OFF = 1000
LOCK = Path("/run/numaplace/daemon.lock")


class Daemon:
    """numaplace daemon, its log read as it comes; tasks count also when they are idle."""

    def __init__(self, *words: object, override: bool = True, **kwargs) -> None:
        self.process = subprocess.Popen(
            [TOOL, "daemon", "--policy", "maximum-local", "--interval", "100ms", "--min-busy", "0",
             *(["--override"] if override else []), *map(str, words)], text=True, stderr=subprocess.PIPE, **kwargs)
        self.lines: list[str] = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self) -> None:
        for line in self.process.stderr:
            assert line.startswith("numaplace: "), line
            self.lines.append(line.removeprefix("numaplace: ").removeprefix("daemon: ").strip())

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        status = self.process.wait(timeout=60)
        self.reader.join(timeout=60)
        return status

    def about(self, target: Target) -> list[str]:
        return [line for line in self.lines if line.startswith(f"process {target.pid} ")]


def wait_for_intervals(metrics: Path, number: int) -> None:
    """Until the daemon that writes this file has had so many more."""
    def intervals() -> int:
        found = re.search(r"^numaplace_daemon_intervals_total (\d+)$", metrics.read_text() if metrics.exists() else "", re.MULTILINE)
        return int(found[1]) if found else 0

    begin = intervals()
    wait_until(lambda: intervals() >= begin + number, intervals)


@pytest.fixture
def start_daemon(tool: Tool) -> Iterator[Callable[..., Daemon]]:
    started: list[Daemon] = []

    def start(*words: object, **kwargs) -> Daemon:
        started.append(Daemon(*words, **kwargs))
        return started[-1]

    yield start
    for daemon in started:
        daemon.end(signal.SIGKILL)


def runs_on(target: Target, node: int) -> Callable[[], bool]:
    return lambda: target.cpus() == {NODE_CPUS[node]}


@pytest.mark.parametrize(("engine", "ending"), [("module", "SIGTERM"), ("module", "leave"),
                                                ("module", "SIGKILL"), ("syscall", "SIGTERM"),
                                                ("syscall", "SIGKILL")], indirect=["engine"])
def test_moves_tasks_and_gives_everything_back(tool: Tool, start_target, start_daemon,
                                               engine: str, ending: str) -> None:
    """The third task finds no core on node 0: it stays on node 1 and its pages come to it."""
    targets = [away(start_target) for _ in range(3)]
    daemon = start_daemon("--engine", engine, *(["--leave"] if ending == "leave" else []),
                          *(t.pid for t in targets))
    wait_until(lambda: all(map(daemon.about, targets)), lambda: daemon.lines)
    nodes = [int(re.search(r"node 1 -> (\d)", daemon.about(t)[0])[1]) for t in targets]
    assert sorted(nodes) == [0, 0, 1]
    for target, node in zip(targets, nodes):
        assert target.cpus() == {NODE_CPUS[node]} and share_on(target, node) >= 0.95
    overflowed = targets[nodes.index(1)]
    daemon.end(signal.SIGKILL if ending == "SIGKILL" else signal.SIGTERM)
    if ending != "SIGTERM":
        assert targets[nodes.index(0)].cpus() == {NODE_CPUS[0]}
        assert tool("restore", "--all")["restored"] >= 2
    else:
        # System calls have placed only the two that changed their CPUs.
        assert daemon.lines[-1] == f"{3 if engine == 'module' else 2} placements restored"
    assert [t.cpus() for t in targets] == [{NODE_CPUS[1]}] * 3
    assert [t.policy() for t in targets] == ["bind:0"] * 3
    assert share_on(overflowed, 1) >= 0.95, "pages stay unless they are asked for"
    back = tool("restore", "--all", "--pages")["pages"]
    assert back["tasks"] == 1 and back["moved"] >= 16 * 256
    assert share_on(overflowed, 0) >= 0.99
    assert all(target.is_whole() for target in targets)


def test_only_the_tasks_of_the_cgroup(start_target, start_daemon, cgroups: Path, engine: str,
                                      ) -> None:
    group = cgroups / "numaplace-test"
    (group / "below").mkdir(parents=True)
    inside, outside = away(start_target), away(start_target)
    (group / "below" / "cgroup.procs").write_text(str(inside.pid))
    daemon = start_daemon("--engine", engine, "--cgroup", "/numaplace-test")
    wait_until(runs_on(inside, 0), lambda: daemon.lines)
    (group / "cgroup.procs").write_text(str(outside.pid))
    wait_until(runs_on(outside, 0), lambda: daemon.lines)
    daemon.end()
    assert inside.cpus() == outside.cpus() == {NODE_CPUS[1]}


def test_stays_within_the_cpuset(start_target, start_daemon, cgroups: Path) -> None:
    """Half of node 0 is allowed to one, nothing of it to the other."""
    half, jailed = away(start_target), away(start_target)
    (cgroups / "cgroup.subtree_control").write_text("+cpuset")
    for name, cpus, target in (("half", "0,2-3", half), ("jail", NODE_CPUS[1], jailed)):
        (cgroups / name).mkdir()
        (cgroups / name / "cpuset.cpus").write_text(cpus)
        (cgroups / name / "cgroup.procs").write_text(str(target.pid))
    daemon = start_daemon(half.pid, jailed.pid)
    wait_until(lambda: half.cpus() == {"0"}, lambda: daemon.lines)
    wait_until(lambda: share_on(jailed, 1) > 0.95 or daemon.process.poll() is not None or
               not daemon.about(jailed), lambda: daemon.lines)
    assert jailed.cpus() == {NODE_CPUS[1]}
    answer = Tool()("plan", "--policy", "maximum-local", "--sample", 0, jailed.pid)
    assert answer["decisions"][0]["to"] != 0


def take_cpusets_back(root: Path) -> None:
    """Where they are on, older kernels give a task all CPUs of the group that it comes to."""
    if "cpuset" in (root / "cgroup.subtree_control").read_text():
        (root / "cgroup.subtree_control").write_text("-cpuset")


@pytest.fixture
def cgroups(tmp_path: Path) -> Iterator[Path]:
    """The root of version 2, all that a test made in it removed at the end."""
    root = tmp_path / "cgroup"
    root.mkdir()
    subprocess.run(["mount", "-t", "cgroup2", "none", root], check=True)
    take_cpusets_back(root)
    yield root
    made = sorted((path for name in ("numaplace-test", "half", "jail")
                   for path in [root / name, *(root / name).glob("**/")] if path.is_dir()),
                  key=lambda path: -len(path.parts))
    for group in dict.fromkeys(made):
        for pid in (group / "cgroup.procs").read_text().split():
            os.kill(int(pid), signal.SIGKILL)
        remove_group(group)
    take_cpusets_back(root)
    subprocess.run(["umount", root], check=True)


@pytest.mark.long("intervals of the daemon")
def test_a_task_that_goes_to_and_fro_is_left_alone(tool: Tool, start_target, start_daemon, module: None,
                                                   tmp_path: Path) -> None:
    """Its memory is moved away under it each time that it has come to it."""
    target = start_target(cpus=0, memory=0)
    target.allocate(16)
    # What a look at its pages takes here is made up for at the default's 0.05 % only after a minute or more.
    daemon = start_daemon("--option", "pages=stay", "--hysteresis", "1", "--window", "600",
                          "--back-off", BACK_OFF, "--reading", "20", "--metrics", tmp_path / "metrics", target.pid)
    for node in (1, 0):
        tool("migrate", target.pid, "--to", node)
        wait_until(runs_on(target, node), lambda: daemon.lines)
    pattern = (rf"process {target.pid} \(target\) went 0 -> 1 -> 0 within \d+ intervals: "
               rf"left on node 0 for {BACK_OFF} intervals")
    wait_until(lambda: any(re.fullmatch(pattern, line) for line in daemon.lines), lambda: daemon.lines)
    tool("migrate", target.pid, "--to", 1)
    lines = len(daemon.lines)
    wait_for_intervals(tmp_path / "metrics", 10)
    assert target.cpus() == {NODE_CPUS[0]} and len(daemon.lines) == lines


def test_idle_tasks_are_left_alone(start_target, start_daemon) -> None:
    idle, busy = away(start_target), away(start_target)
    busy.ask("spinners 1")
    daemon = start_daemon("--min-busy", "0.3", idle.pid, busy.pid)
    wait_until(runs_on(busy, 0), lambda: daemon.lines)
    assert idle.cpus() == {NODE_CPUS[1]} and not daemon.about(idle)


def test_descendants_come_along(start_target, start_daemon) -> None:
    target = away(start_target)
    daemon = start_daemon(target.pid)
    wait_until(lambda: daemon.about(target), lambda: daemon.lines)
    child = child_of(target)
    assert child.cpus() == {NODE_CPUS[0]}
    daemon.end()
    assert child.cpus() == target.cpus() == {NODE_CPUS[1]}


def child_of(target: Target) -> Target:
    """One that it starts now, and that outlives it."""
    target.ask("fork-orphan")
    child = Target.__new__(Target)
    child.pid = int(Path(f"/proc/{target.pid}/task/{target.pid}/children").read_text())
    return child


def has_looked_at(daemon: Daemon, task: Target) -> Callable[[], bool]:
    """It keeps the stat file of every task open that it has listed."""
    def check() -> bool:
        try:
            return any(os.readlink(fd) == f"/proc/{task.pid}/stat"
                       for fd in Path(f"/proc/{daemon.process.pid}/fd").iterdir())
        except FileNotFoundError:
            return False
    return check


def sleeps(daemon: Daemon) -> int:
    status = Path(f"/proc/{daemon.process.pid}/status").read_text()
    return int(status.partition("voluntary_ctxt_switches:")[2].split()[0])


def test_an_orphan_is_restored(tool: Tool, start_target, start_daemon, engine: str) -> None:
    """Its parent, which was placed, has exited before the daemon ends."""
    target = away(start_target)
    daemon = start_daemon("--engine", engine, target.pid)
    wait_until(runs_on(target, 0), lambda: daemon.lines)
    child = child_of(target)
    try:
        wait_until(has_looked_at(daemon, child), lambda: daemon.lines)
        before = sleeps(daemon)
        # It sleeps after a pass: whose child the task is, it knows by then.
        wait_until(lambda: sleeps(daemon) > before, lambda: daemon.lines)
        target.process.kill()
        target.process.wait()
        assert child.cpus() == {NODE_CPUS[0]}
        daemon.end()
        assert (child.cpus(), child.policy()) == ({NODE_CPUS[1]}, "bind:0")
        assert tool("restore", "--all")["restored"] == 0
    finally:
        os.kill(child.pid, signal.SIGKILL)


def test_adopts_what_one_that_crashed_had_placed(tool: Tool, start_target, start_daemon, engine: str) -> None:
    """Also what it would not place itself; what was placed by hand is not its own."""
    target, other = away(start_target), away(start_target)
    tool("place", other.pid, "--cpus", "0", "--engine", engine)
    daemon = start_daemon("--engine", engine, target.pid)
    wait_until(runs_on(target, 0), lambda: daemon.lines)
    daemon.end(signal.SIGKILL)
    assert target.cpus() == {NODE_CPUS[0]}
    next_one = start_daemon("--engine", engine, "--policy", "none", other.pid)
    wait_until(lambda: any("1 tasks adopted" in line for line in next_one.lines), lambda: next_one.lines)
    assert next_one.end() == 0
    assert (target.cpus(), target.policy()) == ({NODE_CPUS[1]}, "bind:0")
    assert other.cpus() == {"0"}
    last = start_daemon("--engine", engine, "--policy", "none", other.pid)
    wait_until(lambda: handles_sighup(last.process.pid))
    last.end()
    assert not any("adopted" in line for line in last.lines)


def test_a_reused_pid_is_another_process(start_target, start_daemon, tmp_path: Path) -> None:
    named, kept = away(start_target), away(start_target)
    daemon = start_daemon("--engine", "syscall", "--metrics", tmp_path / "metrics", named.pid, kept.pid)
    wait_until(lambda: daemon.about(named) and daemon.about(kept), lambda: daemon.lines)
    assert runs_on(named, 0)() and runs_on(kept, 0)()
    named.end()
    for _ in range(100):
        Path("/proc/sys/kernel/ns_last_pid").write_text(str(named.pid - 1))
        another = away(start_target)
        if another.pid == named.pid:
            break
        another.end()
    assert another.pid == named.pid, "the kernel did not give the number again"
    another.ask("spinners 1")
    wait_for_intervals(tmp_path / "metrics", 10)
    assert another.cpus() == {NODE_CPUS[1]}
    assert len(daemon.about(another)) == 1, "one line, of the process that had the number before"
    daemon.end()


def test_goes_on_without_the_module(module: None, start_target, start_daemon) -> None:
    """Unloading gives the task its CPUs back; system calls then place it anew."""
    target, path = away(start_target), find_module_file()
    daemon = start_daemon("--engine", "auto", target.pid)
    wait_until(runs_on(target, 0), lambda: daemon.lines)
    subprocess.run(["/sbin/rmmod", "numaplace"], check=True)
    try:
        wait_until(lambda: len(daemon.about(target)) == 2, lambda: daemon.lines)
        assert runs_on(target, 0)()
        assert [line for line in daemon.lines if "module" in line] == [
            "the module is not loaded any more: what it had placed is restored, and tasks are placed anew by engine syscall"]
        assert daemon.end() == 0 and daemon.lines[-1] == "1 placements restored"
        assert target.cpus() == {NODE_CPUS[1]}
    finally:
        subprocess.run(["/sbin/insmod", path], check=True)


def test_one_daemon_a_machine(tool: Tool, start_target, start_daemon) -> None:
    target = away(start_target)
    daemon = start_daemon(target.pid)
    wait_until(runs_on(target, 0), lambda: daemon.lines)
    status, line = tool.fails("daemon", "--policy", "none")
    assert status == 1 and f"process {daemon.process.pid} (numaplace) is the daemon" in line
    assert str(LOCK) in line


def test_options_are_read_again(start_target, start_daemon, tmp_path: Path) -> None:
    """Wrong ones leave the old in force, right ones make a task count that was too small."""
    target = away(start_target)
    words = tmp_path / "options"
    words.write_text("# which tasks\nmin-size=100\n\nhysteresis=1\n")
    daemon = start_daemon("--options", words, target.pid)
    wait_until(lambda: handles_sighup(daemon.process.pid))
    words.write_text("min-size=x\n")
    daemon.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "the options stay as they were" in daemon.lines, lambda: daemon.lines)
    assert target.cpus() == {NODE_CPUS[1]}
    words.write_text("min-size=2\n")
    daemon.process.send_signal(signal.SIGHUP)
    wait_until(runs_on(target, 0), lambda: daemon.lines)


def test_a_signal_that_was_ignored_stays_ignored(start_target, start_daemon) -> None:
    """As SIGINT is by a script's background jobs: Ctrl-C there does not end it."""
    target = away(start_target)
    daemon = start_daemon(target.pid, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    wait_until(runs_on(target, 0), lambda: daemon.lines)
    ignored = re.search(r"SigIgn:\s*(\w+)", Path(f"/proc/{daemon.process.pid}/status").read_text())
    assert ignored and int(ignored[1], 16) >> (signal.SIGINT - 1) & 1, ignored
    daemon.process.send_signal(signal.SIGINT)
    assert daemon.end() == 0


def events(path: Path) -> list[dict]:
    """Without one that is being written."""
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


@pytest.mark.long("intervals of the daemon")
def test_events_for_programs(tool: Tool, start_target, start_daemon, tmp_path: Path) -> None:
    """Events of waiting, moves, ping-pongs and restores; after a SIGHUP in a file of its own."""
    target, path = start_target(cpus=0, memory=0), tmp_path / "events"
    target.allocate(16)
    path.write_text('{"event": "an earlier daemon\'s"}\n')
    daemon = start_daemon("--events", path, "--option", "pages=stay", "--window", "600", "--back-off", BACK_OFF,
                          "--reading", "20", target.pid)
    tool("migrate", target.pid, "--to", 1)
    wait_until(lambda: any(e["event"] == "moved" for e in events(path)), lambda: daemon.lines)
    path.rename(tmp_path / "old")
    daemon.process.send_signal(signal.SIGHUP)
    wait_until(lambda: path.exists())
    tool("migrate", target.pid, "--to", 0)
    wait_until(lambda: any(e["event"] == "ping_pong" for e in events(path)), lambda: daemon.lines)
    daemon.end()
    old, new = events(tmp_path / "old"), events(path)
    assert [e["event"] for e in old] == ["an earlier daemon's", "started", "waits", "moved"]
    assert [e["event"] for e in new] == ["waits", "moved", "ping_pong", "ended"]
    assert (old[1]["policy"], old[1]["daemon"]) == ("maximum-local", daemon.process.pid)
    assert (old[2]["verdict"], old[2]["pid"], old[2]["to"]) == ("not_steady", target.pid, 1)
    assert (old[3]["from"], old[3]["to"], old[3]["pages_moved"]) == (0, 1, 0) and "home node 1" in old[3]["reason"]
    assert new[2]["left_for_intervals"] == BACK_OFF and new[3]["restored"] == 1
    times = [e["time"] for e in old[1:] + new]
    assert times == sorted(times) and abs(times[-1] - time.time()) < 600


def test_events_are_not_written_through_a_link(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "events").symlink_to(tmp_path / "victim")
    status, line = tool.fails("daemon", "--policy", "none", "--events", tmp_path / "events")
    assert status == 1 and "symbolic link" in line and not (tmp_path / "victim").exists()


def samples(text: str) -> dict[str, float]:
    """What an independent parser makes of a page of metrics."""
    return {sample.name + str(sorted(sample.labels.values())): sample.value
            for family in text_string_to_metric_families(text) for sample in family.samples}


def test_metrics_and_readiness(start_target, start_daemon, tmp_path: Path) -> None:
    target, where = away(start_target), tmp_path / "numaplace.prom"
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(str(tmp_path / "notify"))
    manager.settimeout(60)
    daemon = start_daemon("--metrics", where, target.pid, env=os.environ | {"NOTIFY_SOCKET": str(tmp_path / "notify")})
    told = manager.recv(4096).decode()
    wait_until(runs_on(target, 0), lambda: daemon.lines)
    wait_until(lambda: where.exists() and "moves_total 1" in where.read_text())
    found = samples(where.read_text())
    assert found["numaplace_daemon_moves_total[]"] == 1
    assert found["numaplace_daemon_watched_tasks[]"] == found["numaplace_daemon_placed_tasks[]"] == 1
    assert 0 <= found["numaplace_daemon_locality_ratio[]"] <= 1
    assert found["numaplace_daemon_info['maximum-local', 'module']"] == 1
    daemon.end()
    assert told == "READY=1" and not where.exists()
    while not (told := manager.recv(4096).decode()).startswith("STOPPING=1"):
        assert told.startswith("STATUS="), told


def handles_sighup(pid: int) -> bool:
    caught = re.search(r"SigCgt:\s*(\w+)", Path(f"/proc/{pid}/status").read_text())
    return bool(int(caught[1], 16) & 1 << signal.SIGHUP - 1)
