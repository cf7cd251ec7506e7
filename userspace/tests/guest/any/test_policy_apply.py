# SPDX-License-Identifier: GPL-2.0-only
"""plan, apply and run act on real programs: what they did is read from /proc, not from them."""
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from placed import DEBUGFS, NODE_CPUS, TOOL, Target, Tool, away, find_tool, share_on, wait_until

STATE = Path("/run/numaplace/state.json")
MIB_PAGES = 256
# Without site-packages it starts at once; other users may not reach this tree's link to it.
PYTHON = [os.path.realpath(sys.executable), "-IS"]
BUSY = f"""
area = bytearray({32 << 20})
while True:
    for at in range(0, len(area), 4096):
        area[at] = 1
"""


@pytest.fixture(params=["auto", pytest.param("syscall", marks=pytest.mark.full("the same by system calls"))])
def auto(request: pytest.FixtureRequest, module: None) -> str:
    """What a user has: the module with plain system calls for huge pages, or those alone."""
    return request.param


def assume(*known: tuple[Target, float, float]) -> list[str]:
    return [word for target, penalty, mpki in known
            for word in ("--assume", f"pid={target.pid},penalty={penalty},mpki={mpki}")]


def by_pid(answer: dict, target: Target) -> dict:
    return next(d for d in answer["decisions"] if d["pid"] == target.pid)


def three(start_target) -> tuple[list[Target], list[str]]:
    """One more than node 0 has CPUs, in ascending penalty."""
    targets = [away(start_target) for _ in range(3)]
    return targets, assume(*((t, 1.2 + i / 10, 1) for i, t in enumerate(targets)))


def test_plan_says_and_does_nothing(tool: Tool, start_target) -> None:
    target = away(start_target)
    before = target.pages()
    answer = tool("plan", "--policy", "maximum-local", "--sample", 0, target.pid)
    assert answer["platform"].startswith("lab-") and answer["policy"] == "maximum-local"
    assert answer["options"]["pages"] == "follow"
    decision = answer["decisions"][0]
    assert (decision["from"], decision["to"], decision["home"]) == (1, 0, 0)
    assert decision["penalty"] == {"value": 2.1, "source": "machine"}
    assert decision["mpki"] == {"value": None, "source": "unknown"}
    assert "result" not in decision
    assert target.cpus() == {NODE_CPUS[1]} and target.pages() == before


def test_plan_prints_a_table(tool: Tool, start_target) -> None:
    target = away(start_target)
    done = tool.run("plan", "--policy", "maximum-local", "--sample", 0, target.pid)
    title, heading, line, predicted = done.stdout.splitlines()
    assert title == "maximum-local (pages=follow, penalty=0, rate=935, files=off) on demo-2s (lab-functional)"
    assert heading.split() == ["PID", "TASK", "NODE", "MEMORY", "PAGES", "COST", "GAIN", "PENALTY",
                               "MPKI", "WHY"]
    assert line.split()[0] == str(target.pid)
    assert line.index("free core on its home node 0") == heading.index("WHY")
    assert predicted.startswith("predicted by the contention model (derived from distances): throughput 0.")


@pytest.mark.parametrize("engine", ["module", "syscall"], indirect=True)
def test_maximum_local_applied_again_and_restored(tool: Tool, start_target, engine: str) -> None:
    targets, known = three(start_target)
    for target in targets:
        target.ask("sleepers 2")
    words = ["apply", "--policy", "maximum-local", "--sample", 0, "--engine", engine, *known,
             *(t.pid for t in targets)]
    answer = tool(*words)
    check_tasks_and_pages_together(targets)
    check_answer(answer, targets, engine)
    check_nothing_left_to_do(tool(*words))
    check_new_pages(answer, targets[0], engine)
    assert all(target.is_whole() for target in targets)
    tool("restore", "--all")
    assert [t.cpus() for t in targets] == [{NODE_CPUS[1]}] * 3
    assert [t.policy() for t in targets] == ["bind:0"] * 3


def check_tasks_and_pages_together(targets: list[Target]) -> None:
    """The one of lowest penalty overflows to node 1 and its pages follow."""
    for target, node in zip(targets, (1, 0, 0)):
        assert target.cpus() == {NODE_CPUS[node]}
        assert share_on(target, node) >= 0.95


def check_answer(answer: dict, targets: list[Target], engine: str) -> None:
    moved = by_pid(answer, targets[0])
    assert (moved["from"], moved["to"], moved["home"], moved["pages_to"]) == (1, 1, 0, 1)
    assert moved["result"]["engine"] == engine
    assert moved["result"]["migrate"]["moved"] >= 16 * MIB_PAGES
    came_home = by_pid(answer, targets[2])["result"]
    assert came_home["cpus"] == NODE_CPUS[0] and came_home["migrate"] is None


def check_nothing_left_to_do(answer: dict) -> None:
    for decision in answer["decisions"]:
        assert decision["from"] == decision["to"]
        assert decision["result"]["cpus"] is None
        assert decision["pages_to_move"] < MIB_PAGES


def check_new_pages(answer: dict, target: Target, engine: str) -> None:
    """With the module they follow; without it apply says that they cannot."""
    target.allocate(16)
    if engine == "module":
        assert answer["notes"] == [] and target.policy() == "prefer:1"
        assert share_on(target, 1) >= 0.95
    else:
        assert len(answer["notes"]) == 1 and "memory policy" in answer["notes"][0]
        assert target.policy() == "bind:0"


def test_n_mass_moves_low_penalty_and_leaves_high(tool: Tool, start_target, engine: str) -> None:
    heavy, light = (start_target(cpus=0, memory=0) for _ in range(2))
    for target in (heavy, light):
        target.allocate(16)
    answer = tool("apply", "--policy", "n-mass", "--sample", 0, "--engine", engine,
                  *assume((heavy, 1.8, 30), (light, 1.1, 28)), heavy.pid, light.pid)
    assert "cache pressure" in by_pid(answer, light)["reason"]
    assert heavy.cpus() == {NODE_CPUS[0]} and light.cpus() == {NODE_CPUS[1]}
    assert share_on(light, 0) >= 0.95 and share_on(heavy, 0) >= 0.95


def test_none_leaves_everything(tool: Tool, start_target, engine: str) -> None:
    target = away(start_target)
    before = target.pages()
    answer = tool("apply", "--policy", "none", "--engine", engine, target.pid)
    assert answer["decisions"][0]["to"] is None
    assert answer["decisions"][0]["result"]["migrate"] is None
    assert target.cpus() == {NODE_CPUS[1]} and target.pages() == before


def test_a_task_that_exits_is_skipped(tool: Tool, start_target, engine: str) -> None:
    stays, goes = away(start_target), away(start_target)
    apply = subprocess.Popen([TOOL, "apply", "--override", "--policy", "maximum-local", "--sample", "2500ms",
                              "--engine", engine, str(stays.pid), str(goes.pid)], text=True,
                             stdout=subprocess.PIPE)
    wait_until(lambda: "nanosleep" in Path(f"/proc/{apply.pid}/wchan").read_text())
    apply.send_signal(signal.SIGSTOP)     # or it may go on before the other has gone
    goes.end()
    apply.send_signal(signal.SIGCONT)
    output, _ = apply.communicate(timeout=60)
    assert apply.returncode == 0, output
    assert "has exited" in output and "1 of 2 tasks skipped" in output
    assert stays.cpus() == {NODE_CPUS[0]}


def interrupted(targets: list[Target], known: list[str], engine: str,
                number: signal.Signals) -> subprocess.Popen[str]:
    """apply, ended by this signal once pages of the first task are on their way, which takes 16 s."""
    apply = subprocess.Popen([TOOL, "apply", "--override", "--policy", "maximum-local", "--sample", "0",
                              "--rate", "4", "--engine", engine, *known, *(str(t.pid) for t in targets)],
                             text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: targets[0].pages()[1] > 100 or apply.poll() is not None)
    apply.send_signal(number)
    return apply


def three_large(start_target) -> tuple[list[Target], list[str]]:
    targets, known = three(start_target)
    targets[0].allocate(64)
    return targets, known


@pytest.mark.parametrize(("engine", "number"), [("module", signal.SIGINT),
                                                ("syscall", signal.SIGTERM)])
def test_interrupted_apply_undoes_everything(tool: Tool, start_target, engine: str,
                                             number: signal.Signals) -> None:
    targets, known = three_large(start_target)
    apply = interrupted(targets, known, engine, number)
    _, errors = apply.communicate(timeout=120)
    assert apply.returncode == 1, errors
    assert errors == "numaplace: interrupted; everything that this apply had done was undone\n"
    assert [t.cpus() for t in targets] == [{NODE_CPUS[1]}] * 3
    assert [t.policy() for t in targets] == ["bind:0"] * 3
    assert share_on(targets[0], 0) >= 0.99
    assert targets[0].is_whole()
    assert tool("restore", "--all")["restored"] == 0


def test_restore_after_apply_was_killed(tool: Tool, start_target, engine: str) -> None:
    targets, known = three_large(start_target)
    apply = interrupted(targets, known, engine, signal.SIGKILL)
    apply.communicate(timeout=60)
    assert targets[2].cpus() == {NODE_CPUS[0]}
    assert tool("restore", "--all")["restored"] == (3 if engine == "module" else 2)
    assert [t.cpus() for t in targets] == [{NODE_CPUS[1]}] * 3
    assert [t.policy() for t in targets] == ["bind:0"] * 3
    assert targets[0].is_whole()


def test_failed_step_rolls_back(tool: Tool, start_target, engine: str) -> None:
    free, strict = away(start_target), away(start_target)
    strict.set_deadline()
    status, error = fails_with_table(tool, "apply", "--policy", "maximum-local", "--sample", 0,
                                     "--engine", engine, free.pid, strict.pid)
    assert status == 1 and str(strict.pid) in error and "undone" in error
    assert free.cpus() == {NODE_CPUS[1]} and strict.cpus() == {"0-3"}
    assert share_on(free, 0) >= 0.95


def fails_with_table(tool: Tool, *words: object) -> tuple[int, str]:
    done = tool.run(*words)
    assert done.stderr.count("\n") == 1, done
    return done.returncode, done.stderr


class Run:
    """numaplace run of a busy program on node 1 with its memory on node 0."""

    def __init__(self, *options: object, command: list[str] | None = None, **kwargs) -> None:
        command = command or [*PYTHON, "-c", BUSY]
        self.process = subprocess.Popen(
            [find_tool(kwargs), "run", "--policy", "maximum-local", "--override", "--interval", "300ms", *map(str, options),
             "--", "numactl", "--cpunodebind=1", "--membind=0", *command],
            text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kwargs)

    def child(self) -> Target:
        """The program, looked at as a target."""
        target = Target.__new__(Target)
        wait_until(lambda: self.children() != [])
        target.pid = self.children()[0]
        return target

    def children(self) -> list[int]:
        text = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(pid) for pid in text.split()]

    def placed(self) -> Target:
        child = self.child()
        wait_until(lambda: child.cpus() == {NODE_CPUS[0]})
        return child


def test_run_places_forwards_and_ends_with_the_program(tool: Tool, auto: str) -> None:
    run = Run("--engine", auto)
    child = run.placed()
    assert share_on(child, 0) >= 0.95
    # It is placed before its pages have moved; a program that ends meanwhile is skipped without a line.
    move = r"process \d+ \(python3?\S*\), node 1 -> 0, \d+ of \d+ pages moved in [\d.]+ s: "
    assert any(re.search(move, said) for said in run.process.stderr), "run has ended"
    run.process.terminate()
    run.process.communicate(timeout=120)
    assert run.process.returncode == 128 + signal.SIGTERM
    assert not Path(f"/proc/{child.pid}").exists()
    assert tool("restore", "--all")["restored"] == 0


def test_run_starts_a_program_with_the_signals_that_it_was_started_with(tool: Tool) -> None:
    done = subprocess.run(["sh", "-c", "trap '' HUP INT; \"$0\" run -p none -- grep SigIgn /proc/self/status", TOOL],
                          capture_output=True, text=True, timeout=120, check=True)
    ignored = int(done.stdout.split()[1], 16)
    assert [number for number in range(1, 32) if ignored >> (number - 1) & 1] == [signal.SIGHUP, signal.SIGINT]


@pytest.mark.parametrize("options", [(), ("--assume", "penalty=1.5")])
def test_run_goes_on_without_a_child_that_it_may_not_read(nobody: dict, options: tuple[str, ...]) -> None:
    """The child is not dumpable (prctl 4), as after the start of a set-user-ID program: its pages are root's to see."""
    code = f"import ctypes, os\nif not os.fork():\n    ctypes.CDLL(None).prctl(4, 0)\n{BUSY}"
    run = Run("--engine", "syscall", *options, command=[*PYTHON, "-c", code], **nobody)
    child = run.placed()
    line = "run: 1 process left out: not permitted to read the pages of process"
    assert any(line in said for said in run.process.stderr), "run has ended"
    for pid in family(run.process.pid):
        os.kill(pid, signal.SIGKILL)
    run.process.communicate(timeout=120)
    assert not Path(f"/proc/{child.pid}").exists()


def test_run_moves_pages_of_the_task_that_overflows(tool: Tool, start_target,
                                                    auto: str) -> None:
    """Three busy children with their memory on node 0, which has two CPUs.

    Of the one that moves a twentieth may stay, shared with the others, and as much be astray
    before `run` finds it worth another move.
    """
    code = f"import os\nos.fork() and os.fork()\n{BUSY}"
    run = Run("--engine", auto, "--quiet", command=[*PYTHON, "-c", code])
    found = []

    def settled() -> bool:
        assert run.process.poll() is None, run.process.communicate()
        found[:] = sorted(nodes_of_family(run.process.pid))
        if [cpus for cpus, _ in found] != ["0-1", "0-1", "2-3"]:
            return False
        pages = found[2][1]
        return pages[1] > 0.9 * sum(pages)

    wait_until(settled, lambda: found)
    for pid in family(run.process.pid):
        os.kill(pid, signal.SIGKILL)
    run.process.communicate(timeout=120)
    assert run.process.returncode == 128 + signal.SIGKILL


def nodes_of_family(pid: int) -> list[tuple[str, tuple[int, int]]]:
    """CPUs and pages by node of each descendant, or nothing when one has just exited."""
    found = []
    for member in family(pid):
        task = Target.__new__(Target)
        task.pid = member
        try:
            cpus, pages = task.cpus(), task.pages()
        except (FileNotFoundError, ProcessLookupError):
            return []
        found.append((",".join(sorted(cpus)), (pages[0], pages[1])))
    return found


def family(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [pid for child in map(int, text.split()) for pid in [child, *family(child)]]


def has_record(pid: int) -> bool:
    """Whether run has seen the process, or the module its birth: then it is restored."""
    said = (DEBUGFS / "placements").read_text() + (STATE.read_text() if STATE.exists() else "")
    return re.search(rf'\bpid(=|": ?){pid}\b', said) is not None


def outlives(run: Run) -> None:
    """The program ends with status 7; its busy child lives on, on the node it came from."""
    program, orphan = run.child(), Target.__new__(Target)
    wait_until(lambda: family(program.pid) != [])
    orphan.pid = family(program.pid)[0]
    try:
        wait_until(lambda: orphan.cpus() == {NODE_CPUS[0]} and has_record(orphan.pid))
        run.process.stdin.close()
        assert run.process.wait(timeout=120) == 7
        assert orphan.cpus() == {NODE_CPUS[1]}
        assert orphan.policy() == "bind:0"
    finally:
        os.kill(orphan.pid, signal.SIGKILL)
        run.process.wait(timeout=120)


@pytest.mark.parametrize("auto", ["auto", "syscall"], indirect=True)
def test_run_restores_what_outlives_the_program(tool: Tool, auto: str) -> None:
    outlives(Run("--engine", auto, "--quiet", command=[
        "sh", "-c", '"$0" -IS -c "$1" & read line; exit 7', sys.executable, BUSY]))


def test_run_restores_what_inherited_its_place(tool: Tool, auto: str) -> None:
    """The parent is placed while it starts, its child is born on the new CPUs."""
    code = (f"import subprocess, sys\n"
            f"subprocess.Popen([sys.executable, '-IS', '-c', {BUSY!r}])\n"
            f"sys.stdin.readline()\nsys.exit(7)")
    outlives(Run("--engine", auto, "--quiet", command=[*PYTHON, "-c", code]))


def servers(run: Run, program: Target) -> list[int]:
    """Python's that were given to run; run starts helpers of its own as well."""
    found = []
    for pid in set(run.children()) - {program.pid}:
        try:
            command = Path(f"/proc/{pid}/cmdline").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if command.startswith(sys.executable):
            found.append(pid)
    return found


def test_run_restores_the_orphan_of_one_that_was_placed(tool: Tool, auto: str, tmp_path: Path) -> None:
    """The launcher is busy, placed, starts an idle server and exits when that was seen: the server is never placed itself."""
    seen = tmp_path / "seen"
    code = (f"import os, sys\narea = bytearray({16 << 20})\n"
            f"while '0-1' not in open('/proc/self/status').read().split('Cpus_allowed_list:')[1].split()[0]:\n"
            f"    area[0] = 1\n"
            f"if not os.fork():\n    os.setsid()\n    sys.stdin.close()\n    import time\n    time.sleep(600)\n"
            f"import time\nwhile not os.path.exists({str(seen)!r}):\n    time.sleep(0.05)\nos._exit(7)")
    run = Run("--engine", auto, "--quiet", command=["sh", "-c", '"$0" -IS -c "$1" & wait; read line; exit 7',
                                                     sys.executable, code])
    program, orphan = run.child(), Target.__new__(Target)
    wait_until(lambda: any(has_record(pid) for launcher in family(program.pid) for pid in family(launcher)))
    seen.touch()
    wait_until(lambda: len(servers(run, program)) == 1)
    (orphan.pid,) = servers(run, program)
    try:
        assert orphan.cpus() == {NODE_CPUS[0]}
        run.process.stdin.close()
        assert run.process.wait(timeout=120) == 7
        assert (orphan.cpus(), orphan.policy()) == ({NODE_CPUS[1]}, "bind:0")
    finally:
        os.kill(orphan.pid, signal.SIGKILL)


def test_pages_that_go_back_slowly_hold_up_nobody(tool: Tool, start_target, module: None) -> None:
    """Where pages were is noted in a file that both need."""
    slow, other = away(start_target, 64), away(start_target)
    for target in (slow, other):
        os.sched_setaffinity(target.pid, {2, 3})
    words = ["apply", "--policy", "maximum-local", "--option", "pages=follow", "--sample", 0]
    filler = [away(start_target) for _ in range(2)]
    tool(*words, *assume((slow, 1.1, 1), (filler[0], 1.5, 1), (filler[1], 1.6, 1)), slow.pid,
         *(t.pid for t in filler))
    assert share_on(slow, 1) >= 0.95
    restore = subprocess.Popen([TOOL, "restore", "--all", "--pages", "--rate", "1"], stdout=subprocess.PIPE, text=True)
    wait_until(lambda: slow.pages()[0] > MIB_PAGES)
    answer = tool(*words, *assume((other, 1.1, 1), (filler[0], 1.5, 1), (filler[1], 1.6, 1)), other.pid,
                  *(t.pid for t in filler))
    assert by_pid(answer, other)["result"]["migrate"]["moved"] >= 16 * MIB_PAGES
    assert restore.poll() is None, "it was still at it"
    restore.send_signal(signal.SIGTERM)
    restore.communicate(timeout=120)


def test_restore_after_run_was_killed(tool: Tool, auto: str) -> None:
    run = Run("--engine", auto)
    child = run.placed()
    run.process.kill()
    run.process.wait()
    try:
        assert child.cpus() == {NODE_CPUS[0]}
        assert tool("restore", "--all")["restored"] >= 1
        assert child.cpus() == {NODE_CPUS[1]} and child.policy() == "bind:0"
    finally:
        os.kill(child.pid, signal.SIGKILL)


@pytest.mark.parametrize(("command", "status"), [
    (["true"], 0), (["sh", "-c", "exit 5"], 5), (["sh", "-c", "kill -9 $$"], 137),
    (["/nonexistent/program"], 127), (["/etc/passwd"], 126),
])
def test_run_has_the_programs_exit_status(tool: Tool, command: list[str], status: int) -> None:
    done = tool.run("run", "--policy", "maximum-local", "--", *command)
    assert done.returncode == status, done
    assert done.stdout == ""
    assert done.stderr.count("\n") == (status in (126, 127))


@pytest.mark.parametrize(("words", "policy"), [
    (["--cpunodebind", 1, "--membind", 0], "bind:0"),
    (["-N", 1, "-m", 0], "bind:0"),
    (["--physcpubind", "2-3", "--preferred", 1], "prefer:1"),
    (["--cpunodebind", "!0", "--interleave", "all"], "interleave:0-1"),
])
def test_run_takes_numactls_words(tool: Tool, words: list[object], policy: str) -> None:
    """What the program itself finds when it starts."""
    done = tool.run("run", "--policy", "none", *words, "--", "cat", "/proc/self/status", "/proc/self/numa_maps")
    assert done.returncode == 0, done.stderr
    assert f"Cpus_allowed_list:\t{NODE_CPUS[1]}\n" in done.stdout
    assert any(line.split()[1] == policy for line in done.stdout.splitlines()
               if re.match(r"[0-9a-f]{6,} ", line)), done.stdout
