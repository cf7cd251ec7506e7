# SPDX-License-Identifier: GPL-2.0-only
"""Runs the library's CUnit tests, and the command line on the machine at hand, one node or many."""
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import building, cunit
from userspace.tests.own_run import own_run  # noqa: F401

pytestmark = pytest.mark.usefixtures("own_run")
ROOT = Path(__file__).resolve().parents[3]
GOLDEN = Path(__file__).with_name("golden")
ONE_NODE = Path("/sys/devices/system/node/online").read_text().strip() == "0"
BESIDE = ("trace", "lab", "calibrate-machine", "experiment", "campaign", "worth", "judge", "machine-from", "echo")
NO_MODULE = not Path("/sys/module/numaplace").exists()


def build(target: str) -> Path:
    building.build(target)
    return ROOT / target


PLAIN = pytest.mark.full("the sanitized build runs the same")


@pytest.mark.parametrize("binary", [pytest.param("build/tests/test_userspace", marks=PLAIN), "build/asan/test_userspace"])
def test_units(binary: str) -> None:
    assert cunit.assertions(binary) > 500


@pytest.mark.parametrize("parser", sorted(
    path.stem for path in (ROOT / "userspace" / "fuzz").glob("*.c") if path.stem != "start"))
def test_random_input(parser: str) -> None:
    """Every input that earlier runs have kept, and some thousand new ones; `make fuzz` takes a minute each."""
    build(f"build/fuzz/{parser}")
    run = subprocess.run([sys.executable, ROOT / "userspace" / "fuzz" / "campaign.py", "--runs", "10000", parser],
                         capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    inputs = re.match(rf"{parser}: (\d+) inputs, none ended it", run.stdout)
    assert inputs and int(inputs[1]) > 1000, run.stdout


@pytest.fixture(scope="module", params=[pytest.param("build/numaplace", marks=PLAIN), "build/asan/numaplace"])
def tool(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program in a folder of its own, with programs beside it."""
    folder = tmp_path_factory.mktemp("tree") / "bin"
    (folder.parent / "share" / "numaplace").mkdir(parents=True)
    folder.mkdir()
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    shutil.copy(build(request.param), folder / "numaplace")
    for name in BESIDE:
        beside = folder / f"numaplace-{name}"
        beside.write_text('#!/bin/sh\necho "$(basename "$0") got $*"\nexit 7\n')
        beside.chmod(0o755)
    return folder / "numaplace"


def run(tool: Path, *words: object, **kwargs) -> subprocess.CompletedProcess[str]:
    return subprocess.run([tool, *map(str, words)], capture_output=True, text=True, timeout=60,
                          check=False, **kwargs)


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen]:
    process = subprocess.Popen(["sleep", "1000"])
    yield process
    process.kill()
    process.wait()


def compare(name: str, text: str) -> None:
    """With NUMAPLACE_GOLDEN=write the answers are taken as right, to be read before a commit."""
    path = GOLDEN / name
    if os.environ.get("NUMAPLACE_GOLDEN") == "write":
        path.write_text(text)
    assert text == path.read_text()


def test_help(tool: Path) -> None:
    for words in (["--help"], ["-h"], ["help"]):
        done = run(tool, *words)
        assert (done.returncode, done.stderr) == (0, "")
        compare("help.txt", done.stdout)


def test_help_of_every_command(tool: Path) -> None:
    commands = set(re.findall(r"^  ([a-z-]+) ", run(tool, "--help").stdout, re.MULTILINE)) - set(BESIDE)
    assert len(commands) > 12
    for command in commands:
        done = run(tool, command, "--help")
        assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith(f"Usage: numaplace {command} ")
        assert run(tool, "help", command).stdout == run(tool, command, "-h").stdout == done.stdout
        for option in re.findall(r"^ {2,6}-.*\n(?: {20}.*\n)*", done.stdout, re.MULTILINE):
            assert any(line[29:] for line in option.splitlines()), f"{command}: nothing is said of {option}"


CROSSED = ["predict", "--machine", ROOT / "experiments" / "lab" / "machines" / "demo-2s.toml",
           "--tasks", ROOT / "Documentation/how-to/crossed.toml"]
SOME_POLICIES = ["-p", "none", "-p", "maximum-local", "-p", "measured", "-p", "interleave"]


@pytest.mark.parametrize("name, words", [
    ("machine.txt", ["machine", ROOT / "experiments" / "lab" / "machines" / "cxl-3n.toml"]),
    ("machine-plugin.txt", ["machine", "--plugin", ROOT / "experiments" / "lab" / "machines" / "cxl-3n.toml"]),
    ("predict.txt", [*CROSSED, *SOME_POLICIES]),
    ("predict.json", [*CROSSED, "--json", *SOME_POLICIES]),
    ("predict-random.txt", [*CROSSED[:3], "--random", "20", "--seed", "1", *SOME_POLICIES]),
])
def test_tables(tool: Path, name: str, words: list) -> None:
    done = run(tool, *words)
    assert (done.returncode, done.stderr) == (0, "")
    if name.endswith(".json"):
        answer = json.loads(done.stdout)
        compare(name, "".join(f"{json.dumps(one)}\n" for one in (*answer.pop("cases"), answer)))
    else:
        compare(name, done.stdout)


def test_version(tool: Path) -> None:
    assert re.fullmatch(r"numaplace \d+\.\d+\.\d+ \(module ABI \d+\)\n", run(tool, "--version").stdout)


def asked(name: str) -> list[list[str]]:
    """The words of every command line of a golden file."""
    lines = re.findall(r"^\$ numaplace (.*)$", (GOLDEN / name).read_text(), re.MULTILINE)
    assert len(lines) > 7
    return [line.split() for line in lines]


def test_every_error_is_one_line(tool: Path) -> None:
    said = []
    for words in asked("errors.txt"):
        done = run(tool, *words)
        assert done.returncode in (1, 2) and done.stdout == "", (words, done)
        assert done.stderr.count("\n") == 1 and done.stderr.startswith("numaplace: "), done.stderr
        said.append(f"$ numaplace {' '.join(words)}\n{done.returncode} {done.stderr}")
    compare("errors.txt", "".join(said))


@pytest.mark.skipif(not Path("/proc/2/comm").exists() or
                    Path("/proc/2/comm").read_text() != "kthreadd\n",
                    reason="kernel threads are not visible here")
@pytest.mark.parametrize("words", [["ps", "2"], ["place", "2", "--cpus", "0"]])
def test_kernel_threads_are_refused(tool: Path, words: list[str]) -> None:
    done = run(tool, *words)
    assert (done.returncode, done.stderr) == (
        1, "numaplace: 2 (kthreadd) is a kernel thread; only user processes can be placed\n")


@pytest.mark.skipif(not ONE_NODE, reason="this machine has several nodes")
@pytest.mark.skipif(not NO_MODULE, reason="the module is loaded")
def test_errors_of_a_machine_with_one_node_and_no_module(tool: Path, sleeper) -> None:
    cpus = os.cpu_count() or 1
    said = []
    for words in asked("errors-one-node.txt"):
        done = run(tool, *(str(sleeper.pid) if word == "PID" else word for word in words))
        assert done.returncode in (1, 2, 3) and done.stderr.count("\n") == 1, done
        said.append(f"$ numaplace {' '.join(words)}\n{done.returncode} {done.stderr}")
    compare("errors-one-node.txt", "".join(said).replace(str(sleeper.pid), "PID"))
    assert f"CPU {cpus} does not exist" in run(tool, "place", sleeper.pid, "--cpus", cpus).stderr


def test_errors_with_json_are_lines(tool: Path) -> None:
    done = run(tool, "ps", "--json", "99999999")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "numaplace: no process 99999999; `numaplace ps` lists those there are\n"


def test_programs_beside_it_are_commands(tool: Path) -> None:
    done = run(tool, "echo", "a", "--json", "--", "b")
    assert (done.returncode, done.stdout) == (7, "numaplace-echo got a --json -- b\n")


def test_machine_from_is_a_program_beside_it(tool: Path) -> None:
    done = run(tool, "machine", "--from", "box.xml", "--from=mlc.log", "--cpus-per-node", "4")
    assert (done.returncode, done.stdout) == (7, "numaplace-machine-from got --from box.xml --from=mlc.log --cpus-per-node 4\n")
    (tool.parent / "numaplace-lab").unlink()
    done = run(tool, "lab", "list")
    assert done.returncode == 2 and "numaplace-lab is not beside this one" in done.stderr
    assert "lab list" not in run(tool, "--help").stdout


def test_topology_agrees_with_the_kernel(tool: Path) -> None:
    machine = json.loads(run(tool, "topology", "--json").stdout)
    for node in machine["nodes"]:
        folder = Path(f"/sys/devices/system/node/node{node['id']}")
        assert node["cpus"] == (folder / "cpulist").read_text().strip()
        assert node["distances"] == list(map(int, (folder / "distance").read_text().split()))
        total = re.search(r"MemTotal:\s+(\d+) kB", (folder / "meminfo").read_text())
        assert total and node["mem_total"] == int(total[1]) * 1024
    assert machine["kernel"] == os.uname().release
    assert machine["platform"] == "real" or machine["platform"].startswith("lab-")
    text = run(tool, "topology").stdout
    assert all(f"node {node['id']}" in text for node in machine["nodes"])


def test_ps_of_itself(tool: Path) -> None:
    answer = json.loads(run(tool, "ps", "--json", os.getpid(), os.getpid()).stdout)
    (task,) = answer["tasks"]
    assert task["pid"] == os.getpid() and task["threads"] == len(os.listdir("/proc/self/task"))
    assert set(task) == {"pid", "start", "comm", "threads", "cores", "cpus", "node", "pages", "shm_pages", "file_pages",
                         "locality", "penalty", "penalty_distance", "mpki", "ipc", "cycles", "bandwidth",
                         "local_access", "age_s", "shared_pages", "writes", "accesses", "outstanding",
                         "memory", "not_counted_because"}
    started = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    age = float(Path("/proc/uptime").read_text().split()[0]) - started / os.sysconf("SC_CLK_TCK")
    assert task["age_s"]["source"] == "kernel"
    assert task["age_s"]["value"] == pytest.approx(age, abs=30)
    rss = re.search(r"RssAnon:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert rss and sum(task["pages"].values()) == pytest.approx(int(rss[1]) / 4, rel=0.1)
    assert task["penalty"] == {"value": None, "source": "unknown"}


def test_ps_lists_every_process(tool: Path, sleeper) -> None:
    tasks = json.loads(run(tool, "ps", "--json", "--sample", "0").stdout)["tasks"]
    assert {os.getpid(), sleeper.pid} <= {task["pid"] for task in tasks}
    assert 2 not in {task["pid"] for task in tasks}, "a kernel thread"
    assert f"{sleeper.pid} sleep" in run(tool, "ps", "--sample", "0").stdout


def allowed(pid: int) -> set[int]:
    return os.sched_getaffinity(pid)


def test_place_and_restore(tool: Path, sleeper) -> None:
    before = allowed(sleeper.pid)
    done = run(tool, "place", sleeper.pid, "--cpus", min(before), "--engine", "syscall", "--json")
    assert json.loads(done.stdout) == {
        "pid": sleeper.pid, "comm": "sleep", "threads": "all", "cpus": str(min(before)),
        "mem": "unchanged", "inherit": True, "engine": "syscall"}
    assert allowed(sleeper.pid) == {min(before)}
    done = run(tool, "restore", sleeper.pid, "--json")
    assert json.loads(done.stdout) == {"restored": 1, "left_alone": 0}
    assert allowed(sleeper.pid) == before


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU leaves nothing to change")
def test_restore_leaves_the_users_choice_and_says_so(tool: Path, sleeper) -> None:
    first, second = sorted(allowed(sleeper.pid))[:2]
    run(tool, "place", sleeper.pid, "--cpus", first, "--engine", "syscall")
    os.sched_setaffinity(sleeper.pid, {second})
    done = run(tool, "restore", sleeper.pid)
    assert done.returncode == 0 and "1 thread left alone" in done.stderr
    assert allowed(sleeper.pid) == {second}


def test_two_tools_at_once_lose_nothing(tool: Path) -> None:
    sleepers = [subprocess.Popen(["sleep", "1000"]) for _ in range(8)]
    before = allowed(sleepers[0].pid)
    try:
        placing = [subprocess.Popen([tool, "place", str(process.pid), "--cpus", str(min(before)),
                                     "--engine", "syscall"], stdout=subprocess.DEVNULL)
                   for process in sleepers]
        assert [process.wait(60) for process in placing] == [0] * 8
        assert all(allowed(process.pid) == {min(before)} for process in sleepers)
        assert json.loads(run(tool, "restore", "--all", "--json").stdout)["restored"] >= 8
        assert all(allowed(process.pid) == before for process in sleepers)
    finally:
        for process in sleepers:
            process.kill()
            process.wait()
