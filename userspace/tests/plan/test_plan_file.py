# SPDX-License-Identifier: GPL-2.0-only
"""Plans saved and shown: spreads, and policies whose shared object is gone since."""
import fcntl
import json
import re
import signal
import subprocess
import termios
from pathlib import Path

import pytest

from tests import building
from tests.waiting import eventually

ROOT = Path(__file__).resolve().parents[3]
TOOL = ROOT / "build" / "numaplace"
TUTORIAL = (ROOT / "Documentation/tutorials/first-policy.md").read_text()
MIB_PAGES = 256


def node(number: int) -> dict:
    return {"id": number, "cpus": f"{2 * number}-{2 * number + 1}", "has_memory": True,
            "mem_total": 1 << 30, "mem_free": 1 << 29,
            "distances": [10, 21] if number == 0 else [21, 10]}


def task(pid: int, mib: int) -> dict:
    return {"pid": pid, "start": 9, "comm": "big", "threads": 1, "cores": 1, "cpus": "0-1",
            "node": 0, "pages": {"0": mib * MIB_PAGES}, "file_pages": {}}


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    building.build("build/numaplace")
    path = tmp_path / "ps.json"
    path.write_text(json.dumps({
        "snapshot": 1, "platform": "real", "tasks": [task(7, 64), task(8, 4)],
        "machine": {"name": "m", "page_size": 4096, "nodes": [node(0), node(1)]}}))
    return path


@pytest.fixture
def crowded(tmp_path: Path) -> Path:
    """The tutorial's policy."""
    source = tmp_path / "crowded.c"
    source.write_text(re.search(r"^```c \S+\n(.*?)^```$", TUTORIAL, re.M | re.S)[1])
    subprocess.run(["cc", "-shared", "-fPIC", "-I", ROOT / "policies", "-o",
                    tmp_path / "crowded.so", source], check=True)
    return tmp_path / "crowded.so"


def plan(*words: object) -> dict:
    done = subprocess.run([TOOL, "plan", "--json", *map(str, words)], capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_spreads_are_kept_with_their_order(snapshot: Path, tmp_path: Path) -> None:
    saved = tmp_path / "plan.json"
    made = plan("-p", "interleave", "--snapshot", snapshot)
    saved.write_text(json.dumps(made))
    assert made["decisions"][0]["spread"] == {"0": 1, "1": 1}
    assert made["decisions"][0]["moves"][0]["pages"] == 32 * MIB_PAGES
    shown = plan("--show", saved)
    assert shown["decisions"] == made["decisions"] and shown["unordered"] == 0


@pytest.mark.parametrize(("policy", "memory", "mem", "pages"), [
    ("remote", "interleave:0-1", "leave", 0), ("remote", "bind:0", "leave", 0), ("remote", "bind:0-1", "leave", 64),
    ("interleave", "preferred:0", "leave", 0), ("interleave", "bind:0-1", "leave", 32), ("remote", None, "auto", 64)])
def test_a_chosen_memory_policy_is_kept(snapshot: Path, policy: str, memory: str | None, mem: str, pages: int) -> None:
    """The pages of a strict bind stay on its nodes, those of other policies where they are."""
    described = json.loads(snapshot.read_text())
    described["tasks"][0]["memory"] = memory
    snapshot.write_text(json.dumps(described))
    words = ("-p", policy, *(("-o", "move=pages") if policy == "remote" else ()), "--snapshot", snapshot)
    kept = plan(*words)["decisions"][0]
    assert (kept["mem"], kept["pages_to_move"]) == (mem, pages * MIB_PAGES), kept
    if memory:
        said = f"its memory policy {memory} was chosen for it and is "
        assert said + "kept" in kept["reason"]
        taken = plan("--override", *words)["decisions"][0]
        assert said + "replaced (--override)" in taken["reason"] and taken["pages_to_move"] > 0 and taken["mem"] == "auto"
        assert not plan("--override", "-p", "none", "--snapshot", snapshot)["decisions"][0]["reason"].count("memory policy")
        assert plan("--override", *words)["tasks"][0]["memory"] == memory


def test_options_stand_behind_the_policy_s_name(snapshot: Path, crowded: Path) -> None:
    """`-p NAME:O=V,..` is `-p NAME -o O=V ..`; a -o that follows has the last word."""
    def asked(*words: object) -> dict:
        return plan(*words, "--snapshot", snapshot)

    short = asked("-p", "maximum-local:pages=stay,penalty=1.5")
    assert short == asked("-p", "maximum-local", "-o", "pages=stay", "-o", "penalty=1.5")
    assert short["policy"] == "maximum-local" and short["options"]["pages"] == "stay"
    assert asked("-p", "maximum-local:pages=stay", "-o", "pages=follow")["options"]["pages"] == "follow"
    folder = crowded.parent / "a:b"  # a colon of a path is no option's
    folder.mkdir()
    assert asked("-p", crowded.rename(folder / "crowded.so"))["policy"] == "crowded"
    refused = subprocess.run([TOOL, "policies", "none", "n-mass:pages=folow"], capture_output=True, text=True,
                             timeout=60, check=False)
    assert refused.returncode == 2 and refused.stdout == ""
    assert refused.stderr == 'numaplace: option pages of policy n-mass cannot be "folow": use follow, stay\n'


def test_a_plugin_is_not_needed_again(snapshot: Path, crowded: Path, tmp_path: Path) -> None:
    saved = tmp_path / "plan.json"
    made = plan("-p", crowded, "-o", "from=16", "--snapshot", snapshot)
    saved.write_text(json.dumps(made))
    assert [d["pages_to_move"] for d in made["decisions"]] == [32 * MIB_PAGES, 0]
    crowded.unlink()
    shown = plan("--show", saved)
    assert shown["policy"] == "crowded" and shown["decisions"] == made["decisions"]


def test_what_is_printed_is_what_is_shown(snapshot: Path) -> None:
    made = plan("-p", "maximum-local", "-o", "pages=stay", "-o", "penalty=1.5", "--snapshot", snapshot)
    assert made["plan"] == 2 and made["snapshot"] == 1 and made["boot"] is None
    shown = subprocess.run([TOOL, "plan", "--json", "--show", "-"], input=json.dumps(made), capture_output=True,
                           text=True, timeout=60, check=True)
    assert json.loads(shown.stdout) == made
    refused = subprocess.run([TOOL, "apply", "--plan", "-"], input=json.dumps(made), capture_output=True, text=True,
                             timeout=60, check=False)
    assert refused.returncode == 1
    assert refused.stderr.startswith("numaplace: plan on standard input cannot be applied: it was made from a snapshot")


def waiting_in(pipe: int) -> int:
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), "little")


def test_a_signal_ends_apply_while_it_reads_a_plan(snapshot: Path) -> None:
    apply = subprocess.Popen([TOOL, "apply", "--plan", "-"], stdin=subprocess.PIPE, bufsize=0)
    apply.stdin.write(b"{")
    assert eventually(lambda: waiting_in(apply.stdin.fileno()) == 0)
    apply.send_signal(signal.SIGTERM)  # a shell lets what it starts in the background ignore SIGINT
    assert eventually(lambda: apply.poll() is not None) or apply.kill()
    assert apply.wait() == -signal.SIGTERM


def refused(text: str) -> str:
    """The one line about a plan on standard input, which apply and plan --show have in common."""
    lines = set()
    for words in (("apply", "--plan", "-"), ("plan", "--show", "-")):
        done = subprocess.run([TOOL, *words], input=text, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout) == (1, ""), done
        lines.add(done.stderr)
    (line,) = lines
    assert line.startswith("numaplace: plan on standard input") and line.count("\n") == 1, line
    return line


@pytest.mark.parametrize(("change", "why"), [
    ({"mem": "never"}, 'mem is "never", not a memory policy: auto, leave'),
    ({"spread": {"7": 1}}, "spread names node 7, which machine m does not have; it has 0-1"),
    ({"spread": {"x": 1}}, "spread names node x, which machine m does not have"),
    ({"spread": {"0": 0}}, "spread has a weight for no node"),
    ({"spread": {"0": 256}}, "spread is 256, not a weight from 0 to 255"),
    ({"spread": [0, 1]}, "spread is [0,1], not weights by node"),
    ({"pages_to": 0}, "spread is given beside pages_to"),
    ({"spread": {"0": 1, " 0": 2}}, "spread names node  0, which machine m does not have"),
    ({"to": 5}, "to names node 5, which machine m does not have; it has 0-1"),
    ({"to": 1 << 40}, "to names node 1099511627776, which machine m does not have"),
    ({"to": "0"}, 'to is "0", not a node\'s number or null'),
    ({"to": 0, "to_nodes": [0]}, "to_nodes is given beside to"),
    ({"to_nodes": []}, "to_nodes is [], not a list of nodes"),
    ({"to_nodes": [0, None]}, "to_nodes is null, not a node's number"),
    ({"pid": 99}, "pid is 99, which is none of the tasks"),
    ({"pid": 8}, "pid is 8, which an earlier decision is about"),
    ({"pid": "7"}, 'pid is "7", not the pid of a task'),
    ({"bonus": 0}, "bonus is 0, not a number above 0"),
    ({"penalty": {"value": -1, "source": "flip"}}, "penalty.value is -1, not a number from 0 up"),
    ({"penalty": {"value": 2, "source": "magic"}}, "penalty.source is none of unknown, counters"),
    ({"reason": 7}, "reason is 7, not a text"),
])
def test_what_is_wrong_in_a_decision_is_said(snapshot: Path, change: dict, why: str) -> None:
    made = plan("-p", "interleave", "--snapshot", snapshot)
    made["decisions"][0].update(change)
    assert f"decisions[{int(change == {'pid': 8})}].{why}" in refused(json.dumps(made))


@pytest.mark.parametrize(("change", "why"), [
    ({"plan": 1}, "plan is not 2, the version that this numaplace reads; make the plan with this numaplace"),
    ({"plan": None}, "plan is not 2"),
    ({"snapshot": 7}, "snapshot is not a whole number from 1 to 1"),
    ({"machine": []}, "machine is missing"),
    ({"tasks": {}}, "tasks is not a list"),
    ({"tasks": [{"pid": 7}]}, "tasks[0].comm is not a text"),
    ({"decisions": 3}, "decisions is of another type, not a list"),
    ({"decisions": [4]}, "decisions[0] is 4, not an object with a pid"),
    ({"policy": None}, "policy is missing"),
    ({"options": {"pages": "never"}}, 'option pages of policy maximum-local cannot be "never": use follow, stay'),
    ({"options": [1]}, "options are no object"),
    ({"options": {"pages": []}}, "options.pages is no number, switch or word"),
    ({"options": {"colour": 1}}, "policy maximum-local has no option"),
    ({"boot": 1}, "boot is neither the name of a boot nor null"),
    ({"override": "no"}, "override is neither true nor false"),
])
def test_what_is_wrong_in_a_plan_is_said(snapshot: Path, change: dict, why: str) -> None:
    assert why in refused(json.dumps(plan("-p", "maximum-local", "--snapshot", snapshot) | change))


def test_what_is_no_plan_is_said(snapshot: Path) -> None:
    assert "it is a snapshot, which decides nothing; `numaplace plan --policy P" in refused(snapshot.read_text())
    assert "it is no plan; `numaplace plan --json` prints one" in refused("{}")
    assert " is not JSON: line 2, column 9: " in refused('{"plan": 2,\n  nothing')
    assert " is not JSON: line 1" in refused("")
    assert "duplicate object" in refused('{"plan": 2, "plan": 3}')


def test_a_decision_stands_for_its_pid_and_one_that_is_not_there_for_none(snapshot: Path) -> None:
    made = plan("-p", "interleave", "--snapshot", snapshot)
    big, small = made["decisions"]
    shown = json.loads(subprocess.run([TOOL, "plan", "--json", "--show", "-"], capture_output=True, text=True, check=True,
                                      input=json.dumps(made | {"decisions": [small, big]})).stdout)
    assert [(d["pid"], d["pages_to_move"]) for d in shown["decisions"]] == [
        (7, big["pages_to_move"]), (8, small["pages_to_move"])] and big["pages_to_move"] > small["pages_to_move"]
    shown = json.loads(subprocess.run([TOOL, "plan", "--json", "--show", "-"], capture_output=True, text=True, check=True,
                                      input=json.dumps(made | {"decisions": [small]})).stdout)
    assert [d["pages_to_move"] for d in shown["decisions"]] == [0, small["pages_to_move"]]


def test_a_plan_says_what_its_tasks_may_use(snapshot: Path) -> None:
    first = plan("-p", "none", "--snapshot", snapshot)["tasks"][0]
    assert (first["may_run"], first["may_hold"], first["runs_on"]) == ([0, 1], [0, 1], [0])
    assert first["start"] == 9
