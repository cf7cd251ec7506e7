# SPDX-License-Identifier: GPL-2.0-only
"""Policies that are programs (--policy exec:PATH): every fault of one by its line, and one that equals a built-in."""
import json
import os
import random
import signal
import subprocess
from pathlib import Path

import pytest

from tests import building
from tests.waiting import eventually, has_ended

ROOT = Path(__file__).resolve().parents[3]
TOOL = ROOT / "build" / "numaplace"
EXAMPLE = ROOT / "Documentation" / "reference" / "maximum_local.py"
NODES = [{"id": i, "cpus": f"{2 * i}-{2 * i + 1}", "has_memory": i < 3, "mem_total": 1 << 30, "mem_free": 1 << 29,
          "distances": [10 if i == k else 21 for k in range(4)]} for i in range(4)]
TASKS = [{"pid": pid, "start": 9, "comm": "big", "threads": 1, "cores": 1, "cpus": "0-1", "node": 0,
          "pages": {"1": 4096}, "file_pages": {}} for pid in (7, 8)]
SNAPSHOT = {"snapshot": 1, "platform": "real", "tasks": TASKS, "machine": {"name": "m", "page_size": 4096, "nodes": NODES}}
PATIENT = ("--policy-timeout", "120s")  # a busy host starts an interpreter slowly
# The question without a task is answered; what follows is done when there are tasks.
SH = """#!/bin/sh
grep -q '"tasks":\\[\\]' && exec echo '{"decisions": []}'
"""


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    building.build("build/numaplace")


def program(folder: Path, text: str, name: str = "p") -> Path:
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def plan(folder: Path, *words: object, snapshot: dict = SNAPSHOT) -> subprocess.CompletedProcess[str]:
    (folder / "ps.json").write_text(json.dumps(snapshot))
    return subprocess.run([TOOL, "plan", *PATIENT, "--snapshot", "ps.json", *map(str, words)], cwd=folder,
                          capture_output=True, text=True, timeout=300, check=False)


def planned(folder: Path, *words: object, snapshot: dict = SNAPSHOT) -> dict:
    done = plan(folder, "--json", *words, snapshot=snapshot)
    assert (done.returncode, done.stderr) == (0, ""), done
    return json.loads(done.stdout)


def fault(folder: Path, text: str, *words: object) -> str:
    """What is said of a program that answers the tasks by this, behind its name."""
    program(folder, SH + text)
    done = plan(folder, "--policy", "exec:./p", *words)
    assert (done.returncode, done.stdout) == (1, "") and done.stderr.count("\n") == 1, done
    start, _, rest = done.stderr.partition("policy exec:./p")
    assert start == "numaplace: " and rest, done.stderr
    return rest.strip(": \n")


@pytest.mark.parametrize(("text", "why"), [
    ("kill -SEGV $$", "was killed by signal 11 (Segmentation fault)"),
    ("echo why it dies >&2; kill -9 $$", "was killed by signal 9 (Killed): why it dies"),
    ("echo first >&2; printf 'Last\\tline\\n\\n' >&2; exit 3", "ended with status 3: Last line"),
    ("exit 4", "ended with status 4 and nothing on standard error"),
    ("exit 0", "answered nothing on standard output"),
    ("head -c 3000000 /dev/zero", "answered more than "),
    ("echo '{'; echo '  no'", "answered what is not JSON: line 2, column 4: string or '}' expected near 'no'"),
    ("printf '\\000'", "answered what is not JSON: line 1, column "),
    ("echo '[]'", "answered JSON that is not an object with decisions"),
    ("echo '{}'", "decisions is missing, not a list of decisions"),
    ("echo '{\"decisions\": 1}'", "decisions is of another type, not a list"),
    ("echo '{\"decisions\": [], \"least_gain\": \"a lot\"}'", "least_gain is not a number from 0 up"),
])
def test_what_ends_or_prints_otherwise(tmp_path: Path, text: str, why: str) -> None:
    assert fault(tmp_path, text).startswith(why)


@pytest.mark.parametrize(("decision", "why"), [
    ({"pid": 7, "pages_to": 3}, "pages_to names node 3, which has no memory"),
    ({"pid": 7, "spread": {"0": 1, "3": 1}}, "spread names node 3, which has no memory"),
    ({"pid": 7, "to": 1.5}, "to is 1.5, not a node's number or null"),
    ({"pid": 7, "to": True}, "to is true, not a node's number or null"),
    ({"pid": 7, "mem": None}, "mem is null, not a memory policy"),
    ({"pid": 7, "mem": "preferred", "spread": {"0": 1, "1": 1}}, 'mem is "preferred" beside a spread'),
    ({"pid": 7, "mem": "weighted"}, 'mem is "weighted" without a spread'),
    ({"pid": 7, "mem": "interleave", "pages_to": 1}, 'mem is "interleave" without a spread'),
    ({"to": 1}, "pid is missing, not the pid of a task"),
])
def test_a_decision_that_makes_no_sense(tmp_path: Path, decision: dict, why: str) -> None:
    answer = json.dumps({"decisions": [{"pid": 8}, decision]})
    assert fault(tmp_path, f"echo '{answer}'").startswith(f"decisions[1].{why}")


@pytest.mark.parametrize(("text", "mode", "why"), [
    (None, 0, "cannot be started: No such file or directory"),
    ("#!/bin/sh\n", 0o644, "cannot be started: Permission denied; `chmod +x` makes a file executable"),
    ("#!/no/such/shell\n", 0o755, "cannot be started: No such file or directory; the interpreter that its first line"),
    ("echo a\n", 0o755, "cannot be started: Exec format error; its first line must name its interpreter"),
])
def test_what_cannot_be_started(tmp_path: Path, text: str | None, mode: int, why: str) -> None:
    if text is not None:
        program(tmp_path, text).chmod(mode)
    done = plan(tmp_path, "--policy", "exec:./p")
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1
    assert f"policy exec:./p {why}" in done.stderr


@pytest.mark.long("waits for ten seconds")
def test_one_that_takes_too_long_is_killed_with_what_it_started(tmp_path: Path) -> None:
    line = fault(tmp_path, "sleep 600 & echo $! > other; echo $$ > own; echo '{\"decisions\": []}'; wait",
                 "--policy-timeout", "10s")
    assert line == "gave no answer within 10 s and was killed; --policy-timeout gives it more time"
    for name in ("own", "other"):
        assert eventually(lambda name=name: has_ended(int((tmp_path / name).read_text()))), name


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_it_does_not_outlive_a_command_that_is_killed(tmp_path: Path, number: int) -> None:
    program(tmp_path, SH + "echo $$ > own; exec sleep 600")
    (tmp_path / "ps.json").write_text(json.dumps(SNAPSHOT))
    started = subprocess.Popen([TOOL, "plan", "--snapshot", "ps.json", "--policy", "exec:./p", "--policy-timeout", "600s"],
                               cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    own = tmp_path / "own"
    assert eventually(lambda: own.exists() and own.read_text().endswith("\n"))
    started.send_signal(number)
    assert started.wait() == -number
    assert eventually(lambda: has_ended(int(own.read_text())))


def test_its_status_is_seen_where_the_parent_ignores_sigchld(tmp_path: Path) -> None:
    program(tmp_path, SH + "echo '{\"decisions\": []}'; exit 5")
    (tmp_path / "ps.json").write_text(json.dumps(SNAPSHOT))
    done = subprocess.run([TOOL, "plan", "--snapshot", "ps.json", "--policy", "exec:./p", *PATIENT], cwd=tmp_path, text=True,
                          capture_output=True, check=False,
                          preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert done.returncode == 1 and "ended with status 5" in done.stderr, done


def test_a_timeout_that_is_none(tmp_path: Path) -> None:
    for text in ("0", "never", "4000s", "-1"):
        done = plan(tmp_path, "--policy", "none", "--policy-timeout", text)
        assert done.returncode == 2 and f'--policy-timeout "{text}" is not a time' in done.stderr


ASKS = """#!/usr/bin/python3 -IS
import json, sys
question = json.load(sys.stdin)
about = {"summary": "asks", "options": [
    {"name": "to", "type": "whole number", "default": 1, "min": 0, "max": 3, "meaning": "where to"},
    {"name": "how", "type": "word", "default": "far", "words": ["near", "far"]},
    {"name": "really", "type": "switch", "default": True}]}
decisions = []
if question["tasks"]:
    o = question["options"]
    decisions = [{"pid": question["tasks"][1]["pid"], "to": int(o["to"]), "reason": f"{o['how']}\\n{o['really']}"}]
    json.dump(question, open("question.json", "w"))
json.dump({"about": about, "decisions": decisions}, sys.stdout)
"""


def test_it_has_options_and_a_task_without_a_decision_stays(tmp_path: Path) -> None:
    program(tmp_path, ASKS)
    made = planned(tmp_path, "-p", "exec:./p:how=near,really=off", "-o", "to=2")
    assert made["policy"] == "exec:./p" and made["options"] == {"to": 2, "how": "near", "really": False}
    assert [(d["pid"], d["to"], d["reason"]) for d in made["decisions"]] == [(7, None, ""), (8, 2, "near False")]
    question = json.loads((tmp_path / "question.json").read_text())
    assert set(question) == {"version", "machine", "tasks", "options", "decisions"} and question["version"] == 1
    assert question["tasks"][0].items() <= made["tasks"][0].items(), "one format"
    assert set(made["machine"]["nodes"][0]) == set(question["machine"]["nodes"][0])
    assert set(question["decisions"][0]) <= set(made["decisions"][0])


def test_it_is_listed_with_its_options(tmp_path: Path) -> None:
    program(tmp_path, ASKS)
    done = subprocess.run([TOOL, "policies", *PATIENT, "exec:./p", "--json"], cwd=tmp_path, capture_output=True, text=True, check=True)
    (listed,) = json.loads(done.stdout)["policies"]
    assert (listed["name"], listed["summary"]) == ("exec:./p", "asks")
    assert [(o["name"], o["type"], o["default"]) for o in listed["options"]] == [
        ("to", "whole number", 1), ("how", "word", "far"), ("really", "switch", True)]
    for words, why in (("to=7", "option to of policy exec:./p"), ("colour=1", "policy exec:./p has no option")):
        done = plan(tmp_path, "-p", f"exec:./p:{words}")
        assert done.returncode == 2 and why in done.stderr


@pytest.mark.parametrize(("about", "why"), [
    ({"summary": 1}, "about is not an object whose summary"),
    ({"options": {}}, "about.options is not a list"),
    ({"options": [{"name": "a=b"}]}, "about.options[0].name is not a text without ="),
    ({"options": [{"name": "a", "type": "colour"}]}, "about.options[0].type is not number, whole number"),
    ({"options": [{"name": "a"}]}, "about.options[0].default is not a number"),
    ({"options": [{"name": "a", "type": "word", "words": ["b"], "default": "c"}]}, "default is not one of its words"),
    ({"options": [{"name": "a", "default": 5, "max": 4}]}, "its option a has a default outside its range"),
    ({"options": [{"name": "a", "default": 0}, {"name": "a", "default": 1}]}, "about.options[1].name is not one of its own"),
    ({"options": [{"name": f"o{i}", "default": 0} for i in range(17)]}, "about.options has 17 options, at most 16"),
])
def test_what_it_says_wrong_about_itself(tmp_path: Path, about: dict, why: str) -> None:
    program(tmp_path, f"#!/bin/sh\necho '{json.dumps({'about': about, 'decisions': []})}'\n")
    done = plan(tmp_path, "-p", "exec:./p")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1) and "policy exec:./p" in done.stderr and why in done.stderr


def test_it_is_asked_where_it_was_named_whatever_the_path(tmp_path: Path) -> None:
    (tmp_path / "a:b").mkdir()
    program(tmp_path, "#!/bin/sh\necho '{\"decisions\": []}'\n", "a:b/p.sh")
    for name in ("exec:a:b/p.sh", f"exec:{tmp_path}/a:b/p.sh"):
        assert planned(tmp_path, "-p", name)["policy"] == name
    (tmp_path / "a:b/p.sh").rename(tmp_path / "plain")
    assert planned(tmp_path, "-p", "exec:plain")["policy"] == "exec:plain"


@pytest.mark.parametrize(("least", "acts"), [(0, True), (1.01, True), (1.5, False)])
def test_a_plan_that_brings_too_little_is_rejected_whole(tmp_path: Path, least: float, acts: bool) -> None:
    """By the contention model: one task whose pages are remote, to which it goes. predict says what is predicted."""
    tasks = tmp_path / "t.toml"
    tasks.write_text((ROOT / "Documentation/how-to/crossed.toml").read_text())
    program(tmp_path, f"""#!/usr/bin/python3 -IS
import json, sys
q = json.load(sys.stdin)
for d in q["decisions"]:
    d["pages_to"] = d["from"]
json.dump({{"decisions": q["decisions"], "least_gain": {least}}}, sys.stdout)
""")
    done = subprocess.run([TOOL, "predict", *PATIENT, "--json", "--machine", "demo-2s", "--tasks", tasks, "-p", "exec:./p"],
                          cwd=tmp_path, capture_output=True, text=True, check=True)
    (case,) = json.loads(done.stdout)["cases"]
    throughput = case["throughput"]
    assert (throughput["after"] > throughput["before"]) == acts, throughput


def test_predict_prints_a_name_of_any_bytes(tmp_path: Path) -> None:
    program(tmp_path, SH + "echo '{\"decisions\": []}'").rename(tmp_path / os.fsdecode(b"p\xff"))
    for words in (["--random", "1"], ["--tasks", ROOT / "Documentation/how-to/crossed.toml"]):
        done = subprocess.run([TOOL, "predict", *PATIENT, "--json", "--machine", "demo-2s", *words, "-p", os.fsdecode(b"exec:./p\xff")],
                              cwd=tmp_path, capture_output=True, check=True)
        answer = json.loads(done.stdout)
        assert [case["policy"] for case in answer["cases"] + answer["random"]] == ["exec:./p?"]


def test_predict_ends_with_the_fault_of_a_program(tmp_path: Path) -> None:
    program(tmp_path, SH + "exit 5")
    for words in (["--random", "2"], ["--tasks", ROOT / "Documentation/how-to/crossed.toml"]):
        done = subprocess.run([TOOL, "predict", *PATIENT, "--machine", "demo-2s", *map(str, words), "-p", "none", "-p", "exec:./p"],
                              cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == "numaplace: policy exec:./p ended with status 5 and nothing on standard error\n"


def drawn(seed: int) -> dict:
    """A machine and a task set; nodes without CPUs, without memory and full ones, tasks without pages or of several nodes."""
    draw = random.Random(seed)
    n = draw.choice([2, 3, 4])
    cpus = [0 if i and draw.random() < 0.15 else 4 for i in range(n)]
    nodes = [{"id": 2 * i, "cpus": f"{4 * i}-{4 * i + 3}" if cpus[i] else "", "has_memory": not i or draw.random() < 0.85,
              "mem_total": 1 << 30, "mem_free": draw.choice([1 << 20, 1 << 29, 1 << 30]),
              "distances": [10 if i == k else draw.choice([16, 21, 31]) for k in range(n)]} for i in range(n)]
    runs = [2 * i for i in range(n) if cpus[i]]
    tasks = []
    for pid in range(100, 100 + draw.randrange(1, 4 * n)):
        pages = {str(node["id"]): draw.randrange(1, 5000) for node in nodes if node["has_memory"] and draw.random() < 0.6}
        tasks.append({"pid": pid, "start": 9, "comm": f"t{pid}", "threads": 1, "cores": draw.choice([1, 1, 2, 4]), "cpus": "0-3",
                      "node": draw.choice([*runs, None]), "pages": pages, "file_pages": {},
                      "penalty": draw.choice([{"value": draw.choice([1.25, 1.5, 1 + draw.random()]), "source": "counters"},
                                              {"value": None, "source": "unknown"}])})
    return {"snapshot": 1, "platform": "real", "tasks": tasks, "machine": {"name": f"drawn-{seed}", "page_size": 4096, "nodes": nodes}}


@pytest.mark.parametrize("option", ["pages=follow", "pages=stay,penalty=1.4"])
@pytest.mark.parametrize("seed", range(12))
def test_maximum_local_as_a_program_gives_the_same_plan(tmp_path: Path, seed: int, option: str) -> None:
    """To the word, but for the policy's name."""
    snapshot = drawn(seed)
    program = planned(tmp_path, "-p", f"exec:{EXAMPLE}:{option}", snapshot=snapshot)
    built_in = planned(tmp_path, "-p", f"maximum-local:{option}", snapshot=snapshot)
    assert any(d["to"] is not None for d in built_in["decisions"])
    assert program["options"].items() <= built_in["options"].items()
    same = [key for key in built_in if key not in ("policy", "options")]
    assert {key: program[key] for key in same} == {key: built_in[key] for key in same}


def test_predict_scores_the_two_alike() -> None:
    done = subprocess.run([TOOL, "predict", *PATIENT, "--json", "--machine", "demo-2s", "--random", "12", "-p", f"exec:{EXAMPLE}",
                           "-p", "maximum-local", "-p", "none"], capture_output=True, text=True, check=True)
    program, built_in, none = json.loads(done.stdout)["random"]
    assert {**program, "policy": ""} == {**built_in, "policy": ""} != {**none, "policy": ""}
