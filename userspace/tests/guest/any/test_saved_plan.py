# SPDX-License-Identifier: GPL-2.0-only
"""A plan kept in a file and applied later; what apply and its undo leave behind."""
import json
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from placed import NODE_CPUS, ROOT, TOOL, Tool, away, count_on_node_1, find_module_file, list_nodes, wait_until

MIB_PAGES = 256
PLAN = ("plan", "--policy", "maximum-local", "--sample", 0)


def test_saved_shown_and_applied(tool: Tool, start_target, tmp_path: Path, module: None) -> None:
    """One of the two tasks exits before the plan is carried out."""
    stays, goes = away(start_target), away(start_target)
    saved = tmp_path / "plan.json"
    answer = tool(*PLAN, stays.pid, goes.pid)
    saved.write_text(json.dumps(answer))
    assert tool("plan", "--show", saved)["decisions"] == answer["decisions"]
    assert stays.cpus() == goes.cpus() == {NODE_CPUS[1]}
    goes.end()
    done = tool.run("apply", "--plan", saved)
    assert done.returncode == 0, done
    assert done.stderr == "numaplace: 1 of the plan's 2 tasks have exited since and are skipped\n"
    assert "1 of 2 tasks skipped" in done.stdout
    assert stays.cpus() == {NODE_CPUS[0]}


@pytest.fixture
def crowded(tmp_path: Path) -> Path:
    """The tutorial's policy in a shared object of its own: it spreads the pages of big tasks."""
    return Path(shutil.copy(ROOT / "build" / "tests" / "crowded.so", tmp_path))


def test_a_plugins_saved_spread_is_applied_without_it(tool: Tool, start_target, tmp_path: Path, crowded: Path,
                                                      engine: str) -> None:
    """Where pages are is asked of the kernel: before, once applied, once restored."""
    big, small = start_target(cpus=0, memory=0), start_target(cpus=0, memory=0)
    big.allocate(24)
    small.allocate(4)
    saved = tmp_path / "plan.json"
    made = tool("plan", "--policy", crowded, "-o", "from=16", "--sample", 0, big.pid, small.pid)
    saved.write_text(json.dumps(made))
    assert [d["spread"] for d in made["decisions"]] == [{"0": 1, "1": 1}, None]
    assert count_on_node_1(list_nodes(big, 24)) == 0
    crowded.unlink()
    done = tool("apply", "--plan", saved, "--engine", engine)
    assert done["policy"] == "crowded" and done["decisions"][0]["result"]["engine"] == engine
    nodes = list_nodes(big, 24)
    assert count_on_node_1(nodes) == pytest.approx(0.5, abs=0.02)
    assert all(24 <= sum(nodes[at:at + 64]) <= 40 for at in range(0, len(nodes), 64)), "spread, not halved"
    assert count_on_node_1(list_nodes(small, 4)) == 0
    assert big.is_whole() and small.is_whole()
    tool("restore", "--all", "--pages")
    assert count_on_node_1(list_nodes(big, 24)) < 0.02
    assert (big.policy(), big.cpus(), big.is_whole()) == ("bind:0", {NODE_CPUS[0]}, True)


@pytest.mark.parametrize(("change", "why"), [
    (lambda plan: plan["machine"].update(name="other"), "it was made on machine other, this is"),
    (lambda plan: plan["machine"]["nodes"][0].update(distances=[10, 31]),
     "the distance from node 0 to 1 was 31 and is 21"),
    (lambda plan: plan["machine"]["nodes"][1].update(mem_total=1 << 40), "node 1 had 1048576 MiB"),
    (lambda plan: plan["machine"]["nodes"][1].update(cpus="2-4"), "CPU 4 was online and is offline"),
    (lambda plan: plan.update(boot="an earlier one"), "the machine was booted since"),
    (lambda plan: plan.update(boot=None), "made from a snapshot"),
])
def test_a_plan_for_another_machine(tool: Tool, start_target, tmp_path: Path, change: Callable,
                                    why: str) -> None:
    target, saved = away(start_target, 1), tmp_path / "plan.json"
    plan = tool(*PLAN, target.pid)
    change(plan)
    saved.write_text(json.dumps(plan))
    status, line = tool.fails("apply", "--plan", saved)
    assert status == 1 and why in line and "make a new one" in line
    assert target.cpus() == {NODE_CPUS[1]}


def test_a_snapshot_is_planned_for(tool: Tool, start_target, tmp_path: Path) -> None:
    target, snapshot = away(start_target), tmp_path / "ps.json"
    snapshot.write_text(tool.run("ps", "--json", "--sample", 0, target.pid).stdout)
    live = tool(*PLAN, target.pid)["decisions"]
    target.end()
    assert tool(*PLAN, "--snapshot", snapshot)["decisions"][0]["to"] == live[0]["to"] == 0


def test_pages_come_back_after_apply_was_killed(tool: Tool, start_target, engine: str) -> None:
    """The task of lowest penalty overflows to node 1; its pages are on their way there."""
    targets = [away(start_target) for _ in range(3)]
    targets[0].allocate(256)
    known = [word for i, t in enumerate(targets)
             for word in ("--assume", f"pid={t.pid},penalty={1.2 + i / 10},mpki=1")]
    apply = subprocess.Popen([TOOL, "apply", "--override", "--policy", "maximum-local", "--sample", "0", "--engine",
                              engine, *known, *(str(t.pid) for t in targets)],
                             stdout=subprocess.DEVNULL)
    wait_until(lambda: targets[0].pages()[1] > 100)
    apply.send_signal(signal.SIGKILL)
    apply.wait()
    tool("restore", "--all", "--pages")
    assert [t.cpus() for t in targets] == [{NODE_CPUS[1]}] * 3
    pages = targets[0].pages()
    assert pages[0] >= 0.99 * (pages[0] + pages[1])
    assert targets[0].is_whole()


def test_pages_come_back_after_the_module_was_unloaded(tool: Tool, start_target, module: None) -> None:
    target = away(start_target)
    tool("apply", "--policy", "interleave", "--sample", 0, "--engine", "module", target.pid)
    assert target.pages()[1] > 0.9 * target.pages()[0]
    file = find_module_file()
    subprocess.run(["/sbin/rmmod", "numaplace"], check=True)
    try:
        tool("restore", "--all", "--pages")
        pages = target.pages()
        assert target.cpus() == {NODE_CPUS[1]} and pages[0] >= 0.99 * (pages[0] + pages[1]) and target.is_whole()
    finally:
        subprocess.run(["/sbin/insmod", file], check=True)


def test_undo_keeps_the_memory_policy_of_an_earlier_placement(tool: Tool, start_target,
                                                             module: None) -> None:
    """The rate is so low that the second apply is interrupted while pages move."""
    target = start_target(cpus=0, memory=0)
    target.allocate(64)
    tool("place", target.pid, "--interleave", "0-1")
    assert target.policy() == "interleave:0-1"
    apply = subprocess.Popen([TOOL, "apply", "--override", "--policy", "remote", "--sample", "0", "--rate", "4",
                              "-o", "move=pages", str(target.pid)],
                             text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: target.pages()[1] > 100 or apply.poll() is not None)
    assert apply.poll() is None, apply.communicate()
    apply.send_signal(signal.SIGINT)
    _, errors = apply.communicate(timeout=60)
    assert apply.returncode == 1 and "undone" in errors
    assert target.policy() == "interleave:0-1"
    pages = target.pages()
    assert pages[0] >= 0.99 * (pages[0] + pages[1])


CPUS_AND_PAGES = """#!/usr/bin/python3
import json, sys
answer = json.load(sys.stdin)
for decision, key in zip(answer["decisions"], ("to", "pages_to")):     # of none when it is asked about itself
    decision[key] = 1
json.dump(answer, sys.stdout)
"""


@pytest.mark.parametrize("end", ["failed", "interrupted"])
def test_undo_of_cpus_keeps_the_memory_policy_of_an_earlier_placement(tool: Tool, start_target, tmp_path: Path,
                                                                      module: None, end: str) -> None:
    """The plan has CPUs only for the first task; the second, of a deadline or with slow pages, ends it."""
    target, other = start_target(cpus=1, memory=1), away(start_target, 64)
    target.allocate(8)
    tool("place", target.pid, "--interleave", "0-1")
    tool("place", target.pid, "--cpus", "0-1")
    words = ["--policy", "maximum-local", "-o", "pages=stay"]
    if end == "failed":
        other.set_deadline()
    else:
        program = tmp_path / "policy"
        program.write_text(CPUS_AND_PAGES)
        program.chmod(0o755)
        words = ["--policy", f"exec:{program}", "--policy-timeout", "120s", "--rate", "4"]
    apply = subprocess.Popen([TOOL, "apply", "--override", *words, "--sample", "0", str(target.pid), str(other.pid)],
                             text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if end == "interrupted":
        wait_until(lambda: other.pages()[1] > 100 or apply.poll() is not None)
        assert apply.poll() is None and target.cpus() == {NODE_CPUS[1]}, apply.communicate()
        apply.send_signal(signal.SIGINT)
    _, errors = apply.communicate(timeout=120)
    assert apply.returncode == 1 and "undone" in errors, errors
    assert (target.policy(), target.cpus()) == ("interleave:0-1", {"0-1"})
    tool("restore", "--all")
    assert (target.policy(), target.cpus()) == ("bind:1", {NODE_CPUS[1]})


def test_no_right_to_touch_a_task(tool: Tool, start_target, nobody: dict, module: None) -> None:
    target = away(start_target, 1)
    before = target.pages()
    for words in (("apply", "--policy", "maximum-local", target.pid), ("plan", "--policy", "none", target.pid),
                  ("daemon", "--policy", "none", target.pid), ("migrate", target.pid, "--from", 0, "--to", 1),
                  ("place", target.pid, "--cpus", 0), ("ps", target.pid)):
        status, line = tool.fails(*words, **nobody)
        assert status == 1 and f"process {target.pid} of user root" in line and "run as" in line, line
    status, line = tool.fails("place", target.pid, "--mem", "bind:0", **nobody)
    assert status == 3 and "the numaplace module is loaded, but its files are root's; run as root" in line
    assert target.cpus() == {NODE_CPUS[1]} and target.pages() == before


def test_what_the_module_placed_is_not_denied_by_who_cannot_see_it(tool: Tool, start_target, nobody: dict,
                                                                    module: None) -> None:
    target = away(start_target, 1)
    tool("place", target.pid, "--cpus", 0)
    status, line = tool.fails("restore", target.pid, **nobody)
    assert status == 1 and "was not placed by this user" in line and "run as root to restore" in line
    done = tool.run("restore", "--all", **nobody)
    assert (done.returncode, done.stdout) == (0, "restored 0 placements\n") and "run as root to restore" in done.stderr
    assert target.cpus() == {"0"}


def test_those_of_a_cgroup_that_may_not_be_touched_are_said(tool: Tool, start_target, nobody: dict) -> None:
    away(start_target, 1)
    done = tool.run("plan", "--policy", "none", "--sample", 0, "--cgroup", "/", **nobody)
    assert done.returncode == 0 and re.fullmatch(
        r"numaplace: \d+ processes left out, one of them: not permitted .* of user root; run as .*\n", done.stderr)
