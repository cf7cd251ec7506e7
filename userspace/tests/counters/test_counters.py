# SPDX-License-Identifier: GPL-2.0-only
"""counters, measure-penalty, ps and top on the machine at hand, with processor counters or without."""
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import building
from userspace.tests.terminal import Terminal

ROOT = Path(__file__).resolve().parents[3]
TOOL = ROOT / "build" / "numaplace"
ONE_NODE = Path("/sys/devices/system/node/online").read_text().strip() == "0"


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    building.build("build/numaplace")


def run(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([TOOL, *map(str, words)], capture_output=True, text=True, timeout=120, check=False)


def test_the_documentation_has_the_table_of_the_code() -> None:
    table = run("counters", "--table").stdout
    assert table.count("\n") > 80 and table in (ROOT / "Documentation/reference/counters.md").read_text()


@pytest.mark.parametrize("words", [
    ["counters", "--pid", "1", "-C", "0"], ["counters", "--pid", "1", "--", "true"], ["counters", "-C", "999999"],
    ["counters", "-i", "x"], ["measure-penalty"], ["measure-penalty", "--flip", "1", "--sample", "1ms"],
    ["measure-penalty", "--task", "true", "--node", "999"],
    ["ps", "--sort", "beauty"], ["ps", "--node", "999"], ["top", "--sort", "beauty"]])
def test_usage(words: list[str]) -> None:
    done = run(*words)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1, done


def test_a_cpu_that_is_not_there_is_named() -> None:
    assert run("counters", "-C", "99999").stderr.startswith("numaplace: counters: CPU 99999 does not exist; ")


def test_counters_are_there_or_say_why_not() -> None:
    done = run("counters", "--json", "-n", "2", "-i", "50ms")
    if done.returncode == 3:
        assert re.fullmatch(r"numaplace: count.* because .*\n", done.stderr) and not done.stdout
        return
    assert done.returncode == 0
    first, *intervals = (json.loads(line)["rows"] for line in done.stdout.splitlines())
    assert not first and len(intervals) == 2
    for rows in intervals:
        assert len(rows) == os.cpu_count() + len({row["node"] for row in rows if row["what"] == "cpu"}) + 1
        assert all(event.keys() & {"source", "why"} for row in rows for event in row.values() if isinstance(event, dict))


def test_counters_give_the_commands_status_or_refuse_before_it_runs(tmp_path: Path) -> None:
    done = run("counters", "--", "sh", "-c", f"touch {tmp_path}/ran; exit 7")
    assert done.returncode == (7 if (tmp_path / "ran").exists() else 3)


@pytest.mark.skipif(not ONE_NODE, reason="this machine has several nodes")
def test_one_node_has_no_penalty() -> None:
    task, flip = run("measure-penalty", "--task", "true"), run("measure-penalty", "--flip", os.getpid())
    assert task.returncode == 3 and "one node with memory" in task.stderr
    assert flip.returncode == 3 and "no other node with CPUs" in flip.stderr


def test_calibrate_measures_nothing_that_it_could_not_save(tmp_path: Path) -> None:
    command = f"touch {tmp_path}/ran"
    done = run("measure-penalty", "--task", command, "--save", tmp_path / "no" / "m.toml")
    assert done.returncode == 1 and "m.toml cannot be written: No such file" in done.stderr
    (tmp_path / "m.toml").write_text("[penalty\n")
    done = run("measure-penalty", "--task", command, "--save", tmp_path / "m.toml")
    assert done.returncode == 1 and "m.toml" in done.stderr and (tmp_path / "m.toml").read_text() == "[penalty\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.toml"]


def test_a_task_that_fails_writes_no_file(tmp_path: Path) -> None:
    done = run("measure-penalty", "--task", "false", "--save", tmp_path / "m.toml")
    assert done.returncode in (1, 3) and not list(tmp_path.iterdir()), done


@pytest.fixture
def busy() -> Iterator[subprocess.Popen]:
    process = subprocess.Popen(["sh", "-c", "while :; do :; done"])
    yield process
    process.kill()
    process.wait()


def test_ps_sorts_and_leaves_out(busy: subprocess.Popen) -> None:
    tasks = json.loads(run("ps", "--json", "--sort", "busy", "--sample", "300ms").stdout)["tasks"]
    order = [task["pid"] for task in tasks]
    assert order.index(busy.pid) < len(order) / 2
    assert all(task["not_counted_because"] or task["ipc"]["value"] is not None for task in tasks)
    pids = [task["pid"] for task in json.loads(run("ps", "--json", "-S", "pid", "-s", "0").stdout)["tasks"]]
    assert pids == sorted(pids)
    only = run("ps", "--command", "sh", "--sort", "pages", "--limit", "1", "-s", "0").stdout.splitlines()
    assert len(only) == 2 and "sh" in only[1].split()[1]


def test_a_page_walk_finds_what_numa_maps_says() -> None:
    me = os.getpid()
    maps, walk = (json.loads(run("ps", "--json", "-s", "0", *words, me).stdout)["tasks"][0]["pages"]
                  for words in ([], ["--walk"]))
    assert set(maps) == set(walk) and sum(walk.values()) == pytest.approx(sum(maps.values()), rel=0.1)


@pytest.fixture
def cgroup(busy: subprocess.Popen) -> Iterator[Path]:
    """One of this test's, without tasks at its end."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    folder = next((Path(mount[1]) for mount in mounts if mount[2] == "cgroup2"), None)
    if not folder or not os.access(folder / "cgroup.procs", os.W_OK):
        pytest.skip("no cgroup of version 2 can be made here")
    group = folder / f"numaplace-test-{os.getpid()}"
    group.mkdir()
    before = folder / Path("/proc/self/cgroup").read_text().split("0::/")[1].strip() / "cgroup.procs"
    yield group
    before.write_text(str(busy.pid))
    for below, _, _ in os.walk(group, topdown=False):
        os.rmdir(below)


def test_ps_of_a_cgroup(busy: subprocess.Popen, cgroup: Path) -> None:
    (cgroup / "below").mkdir()
    empty = run("ps", "--cgroup", f"/{cgroup.name}", "-s", "0")
    assert empty.returncode == 0 and len(empty.stdout.splitlines()) == 1, empty
    (cgroup / "below" / "cgroup.procs").write_text(str(busy.pid))
    shown = run("ps", "--cgroup", f"/{cgroup.name}", "-s", "0").stdout.splitlines()[1:]
    assert [int(line.split()[0]) for line in shown] == [busy.pid]


@pytest.mark.parametrize("name", ["x", "php8.2-"])
def test_plan_of_a_unit(busy: subprocess.Popen, cgroup: Path, name: str) -> None:
    unit = f"{name}{os.getpid()}"
    system, others = (cgroup / slice_name / f"{unit}.service" for slice_name in ("a.slice", "delegated"))
    for folder in (system, others):
        folder.mkdir(parents=True)
    (system / "cgroup.procs").write_text(str(busy.pid))
    two = run("plan", "--policy", "none", "--unit", unit)
    assert two.returncode == 1 and f'2 units "{unit}.service" run' in two.stderr and "name one with --cgroup" in two.stderr
    assert all(f"/{cgroup.name}/{slice_name}/{unit}.service" in two.stderr for slice_name in ("a.slice", "delegated"))
    os.chown(others, 65534, 65534)  # a user makes what he likes in a tree that is delegated to him
    shown = run("plan", "--policy", "none", "--json", "--unit", unit)
    # Of a machine with one node it says that only after it has found the unit.
    assert "has one node" in shown.stderr or [task["pid"] for task in json.loads(shown.stdout)["decisions"]] == [busy.pid]
    os.chown(system, 65534, 65534)
    none = run("plan", "--policy", "none", "--unit", unit)
    assert none.returncode == 1 and f'no unit "{unit}.service" runs' in none.stderr


def test_top_wants_a_terminal() -> None:
    done = run("top")
    assert done.returncode == 3 and "no terminal" in done.stderr


def test_ps_prints_the_columns_that_are_asked_for() -> None:
    shown = run("ps", "-s", "0", "--columns", "busy,pid,cpus", os.getpid()).stdout.split()
    assert shown[:6] == ["BUSY", "PID", "CPUS", "0.00", str(os.getpid()), shown[5]]
    done = run("ps", "-s", "0", "--columns", "pid,beauty")
    assert done.returncode == 2 and 'no column "beauty"; there are pid, ' in done.stderr


KEYS = "^q quit  s order"


@pytest.mark.parametrize("rows, columns", [(24, 80), (60, 220)])
def test_top_draws_obeys_keys_and_leaves(rows: int, columns: int) -> None:
    terminal = Terminal(rows, columns)
    lines = terminal.wait_for("^numaplace top - .* by cost", last=KEYS)
    assert len(lines) == rows
    heading = next(line for line in lines if line.startswith("    PID COMMAND"))
    assert ("CPUS" in heading) == (columns > 100), "the last column shows where there is room"
    tasks = [line.split() for line in lines[lines.index(heading) + 1:-1] if line.strip()]
    assert tasks and all(words[0].isdigit() for words in tasks)
    terminal.type(b"s")
    terminal.wait_for("^numaplace top - .* by busy")
    terminal.type(b"s" * 6)
    first = int(terminal.wait_for("^numaplace top - .* by pid")[lines.index(heading) + 1].split()[0])
    terminal.type(b"q")
    assert terminal.status() == 0 and first < 1000000


def test_top_follows_the_size_of_its_terminal_and_ends_by_a_signal() -> None:
    terminal = Terminal(24, 80)
    assert not any("CPUS" in line for line in terminal.wait_for(KEYS)[2:])
    terminal.resize(40, 200)
    terminal.wait_for("PID COMMAND.*CPUS", last=KEYS)     # while it draws, the keys are where they were before
    terminal.top.terminate()
    assert terminal.status() == 0


def test_top_ends_when_its_terminal_is_gone() -> None:
    """It has no controlling terminal here, so that no SIGHUP tells it."""
    terminal = Terminal(24, 80)
    terminal.wait_for(KEYS)
    os.close(terminal.fd)
    assert terminal.top.wait(60) == 0
