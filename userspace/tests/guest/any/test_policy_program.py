# SPDX-License-Identifier: GPL-2.0-only
"""A policy that is a program moves real tasks: by apply, by a plan in a pipe, by run, and by the daemon every interval."""
import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from placed import NODE_CPUS, ROOT, TOOL, Tool, away, remove_group, wait_until

EXAMPLE = ROOT / "Documentation" / "reference" / "maximum_local.py"
GROUP = Path("/sys/fs/cgroup/program")
PATIENT = ("--policy-timeout", "120s")  # the interpreter starts slowly in the lab
HOME = """#!/bin/sh
# Every task and its pages go to node 0.
exec sed 's/"to":null/"to":0/g; s/"pages_to":null/"pages_to":0/g; s/"reason":""/"reason":"by sed"/g'
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return write(tmp_path, HOME)


def write(folder: Path, text: str) -> Path:
    path = folder / "policy"
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_the_example_places_a_real_task(tool: Tool, start_target, engine: str) -> None:
    target = away(start_target)
    done = tool("apply", "--policy", f"exec:{EXAMPLE}", *PATIENT, "--sample", 0, "--engine", engine, target.pid)
    assert done["decisions"][0]["reason"].startswith("free core on its home node 0; its memory policy bind:0 was")
    assert target.cpus() == {NODE_CPUS[0]} and target.pages()[1] == 0
    tool("restore", "--all")
    assert target.cpus() == {NODE_CPUS[1]}


def test_what_plan_prints_apply_reads_from_a_pipe(tool: Tool, start_target, home: Path, engine: str) -> None:
    """The pages come back to node 0 by a plan whose policy does not exist any more."""
    target = start_target(cpus=1, memory=1)
    target.allocate(16)
    printed = tool.run("plan", "--policy", f"exec:{home}", *PATIENT, "--sample", 0, "--json", target.pid).stdout
    home.unlink()
    plan = json.loads(printed)
    assert plan["decisions"][0]["moves"][0]["pages"] >= 16 * 256
    assert plan["tasks"][0]["start"] == int(Path(f"/proc/{target.pid}/stat").read_text().rsplit(")", 1)[1].split()[19])
    done = tool.run("apply", "--plan", "-", "--engine", engine, input=printed)
    assert done.returncode == 0 and "by sed" in done.stdout, done
    assert target.cpus() == {NODE_CPUS[0]} and target.is_whole()
    assert target.pages()[1] < 0.02 * sum(target.pages().values())


def test_a_pid_that_is_another_task_now_is_left_alone(tool: Tool, start_target, home: Path) -> None:
    target = away(start_target)
    plan = tool("plan", "--policy", f"exec:{home}", *PATIENT, "--sample", 0, target.pid)
    plan["tasks"][0]["start"] -= 1
    done = tool.run("apply", "--plan", "-", input=json.dumps(plan))
    assert "1 of the plan's 1 tasks have exited since and are skipped" in done.stderr, done
    assert target.cpus() == {NODE_CPUS[1]}


@pytest.fixture
def node_1_only() -> Iterator[Path]:
    root = GROUP.parent
    (root / "cgroup.subtree_control").write_text("+cpuset")
    GROUP.mkdir()
    (GROUP / "cpuset.cpus").write_text(NODE_CPUS[1])
    yield GROUP
    remove_group(GROUP)
    (root / "cgroup.subtree_control").write_text("-cpuset")


def test_a_node_that_its_cpuset_forbids_is_refused(tool: Tool, start_target, home: Path, node_1_only: Path) -> None:
    target = away(start_target)
    (node_1_only / "cgroup.procs").write_text(str(target.pid))
    status, line = tool.fails("apply", "--policy", f"exec:{home}", *PATIENT, "--sample", 0, target.pid)
    assert status == 1 and f"policy exec:{home}: decisions[0].to names node 0, on which process {target.pid} may not run" in line
    assert target.cpus() == {NODE_CPUS[1]}
    target.end()


class Daemon:
    def __init__(self, folder: Path, *words: object) -> None:
        self.log = folder / "daemon.log"
        self.process = subprocess.Popen(
            [TOOL, "daemon", "--interval", "100ms", "--min-busy", "0", "--override", "--hysteresis", "1", *map(str, words)],
            stderr=self.log.open("w"))

    def lines(self) -> str:
        return self.log.read_text()

    def children(self) -> list[str]:
        return Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=120)


@pytest.fixture
def start_daemon(tool: Tool, tmp_path: Path) -> Iterator[Callable[..., Daemon]]:
    started: list[Daemon] = []

    def start(*words: object) -> Daemon:
        started.append(Daemon(tmp_path, *words))
        return started[-1]

    yield start
    for daemon in started:
        daemon.process.kill()
        daemon.process.wait()


def test_the_daemon_asks_one_and_gives_everything_back(start_target, start_daemon, home: Path) -> None:
    target = away(start_target)
    daemon = start_daemon("--policy", f"exec:{home}", *PATIENT, target.pid)
    wait_until(lambda: target.cpus() == {NODE_CPUS[0]}, daemon.lines)
    wait_until(lambda: "by sed" in daemon.lines(), daemon.lines)  # said when the task's pages have moved too
    assert daemon.end() == 0 and target.cpus() == {NODE_CPUS[1]}, daemon.lines()


def test_the_daemon_names_a_fault_once_and_goes_on(start_target, start_daemon, tmp_path: Path) -> None:
    """It fails while a file is there; no zombie and no descriptor is left of many failures."""
    broken = tmp_path / "broken"
    policy = write(tmp_path, HOME.replace("exec sed", "grep -q '\"tasks\":\\[\\]' /dev/stdin && exec echo '{\"decisions\": []}'\n"
                                          f"echo asked >> {tmp_path}/asked\n[ -e {broken} ] && exit 9\nexec sed"))
    broken.touch()
    target = away(start_target)
    daemon = start_daemon("--policy", f"exec:{policy}", *PATIENT, target.pid)
    asked = tmp_path / "asked"
    wait_until(lambda: "ended with status 9" in daemon.lines(), daemon.lines)
    before = min(daemon.descriptors() for _ in range(20))  # fewest: a program that is being asked needs some
    wait_until(lambda: asked.read_text().count("asked") >= 20, daemon.lines)
    assert daemon.lines().count("ended with status 9") == 1, "the same complaint is not repeated"
    wait_until(lambda: daemon.descriptors() <= before + 1, daemon.lines)
    broken.unlink()
    wait_until(lambda: target.cpus() == {NODE_CPUS[0]}, daemon.lines)
    wait_until(lambda: not daemon.children(), "no zombie is left")
    assert daemon.end() == 0


def test_a_daemon_does_not_wait_for_its_program_to_end(start_target, start_daemon, tmp_path: Path) -> None:
    policy = write(tmp_path, "#!/bin/sh\ngrep -q '\"tasks\":\\[\\]' && exec echo '{\"decisions\": []}'\n"
                             f"echo $$ > {tmp_path}/pid\nsleep 600\n")
    target = away(start_target)
    daemon = start_daemon("--policy", f"exec:{policy}", "--policy-timeout", "600s", target.pid)
    pid = tmp_path / "pid"
    wait_until(lambda: pid.exists() and pid.read_text().strip() != "", daemon.lines)
    assert daemon.end() == 0, daemon.lines()
    assert "was ended by a signal to numaplace" in daemon.lines()
    wait_until(lambda: not Path(f"/proc/{pid.read_text().strip()}").exists(), "the program is killed")


def test_run_asks_one(tool: Tool, home: Path) -> None:
    """The program that it starts ends when its CPUs are node 0's."""
    script = "import os\nwhile os.sched_getaffinity(0) != {0, 1}:\n    pass\n"
    done = tool.run("run", "--policy", f"exec:{home}", *PATIENT, "--sample", "10ms", "--interval", "50ms", "--override",
                    "--cpunodebind", "1", "--", "/usr/bin/python3", "-IS", "-c", script)
    assert done.returncode == 0, done
