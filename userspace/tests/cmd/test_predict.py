# SPDX-License-Identifier: GPL-2.0-only
"""`numaplace predict`: policies on paper, on machines of the lab and on a snapshot of this one."""
import json
import os
import subprocess
from pathlib import Path

import pytest

from tests import building

ROOT = Path(__file__).resolve().parents[3]
TASKS = ROOT / "Documentation/how-to/crossed.toml"
TOLERANCE = 1e-3  # results are printed with four digits


@pytest.fixture(scope="module")
def tool() -> Path:
    building.build("tools")
    return ROOT / "build" / "numaplace"


def predict(tool: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([tool, "predict", *map(str, words)], capture_output=True, text=True,
                          timeout=300, check=False)


def found(tool: Path, *words: object) -> dict:
    run = predict(tool, *words, "--json")
    assert run.returncode == 0, run.stdout + run.stderr
    return json.loads(run.stdout)


def all_policies(tool: Path) -> list[str]:
    run = subprocess.run([tool, "policies", "--json"], capture_output=True, text=True, check=True)
    return [policy["name"] for policy in json.loads(run.stdout)["policies"]]


def test_every_policy_on_two_machines(tool: Path) -> None:
    result = found(tool, "--machine", "demo-2s", "--machine", "xeon-e5620-2s", "--tasks", TASKS)
    assert result["platform"] == "predicted"
    names = all_policies(tool)
    assert [(case["machine"], case["policy"]) for case in result["cases"]] == [
        (machine, name) for machine in ("demo-2s", "xeon-e5620-2s") for name in names]
    for machine in ("demo-2s", "xeon-e5620-2s"):
        cases = {case["policy"]: case for case in result["cases"] if case["machine"] == machine}
        none, measured = cases["none"], cases["measured"]
        assert none["throughput"]["before"] == none["throughput"]["after"] > 0
        assert none["pages_moved"] == 0
        assert {case["predicted_by"] for case in cases.values() if "error" not in case} == {"model"}
        # Everything starts on the wrong node, so both of these must gain.
        assert measured["throughput"]["after"] > 1.05 * none["throughput"]["after"]
        assert cases["maximum-local"]["locality"]["after"] == pytest.approx(1, abs=0.01)


def test_a_file_whose_name_is_not_utf8_keeps_its_case(tool: Path, tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff.toml"
    Path(os.fsdecode(name)).write_bytes(TASKS.read_bytes())
    run = subprocess.run([tool, "predict", "--machine", "demo-2s", "--tasks", name, "-p", "none", "--json"],
                         capture_output=True, timeout=60, check=False)
    assert run.returncode == 0, run
    case, = json.loads(run.stdout)["cases"]
    assert case["tasks"].endswith(".toml") and case["policy"] == "none"


LARGE = """[[task]]
name = "large"
node = 0
cores = 2
memory = {memory}
bandwidth_mb_s = 2000
"""


def test_memory_of_the_set_is_not_free(tool: Path, tmp_path: Path) -> None:
    """Of 1 GiB on each node 900 MiB are taken: pages of one node do not fit beside those of the other."""
    tasks = tmp_path / "tasks.toml"
    tasks.write_text(LARGE.format(memory='"900 MiB"') + LARGE.format(memory='{ "1" = "900 MiB" }')
                     + LARGE.format(memory='"1 MiB"').replace("node = 0", "node = 1"), encoding="utf-8")
    (case,) = found(tool, "--machine", "demo-2s", "--tasks", tasks, "-p", "carrefour")["cases"]
    assert 0 < case["pages_moved"] <= 124 * 256, case


@pytest.mark.parametrize("size", ["1025 MiB", "16777215 TiB"])
def test_a_set_that_its_nodes_cannot_hold(tool: Path, tmp_path: Path, size: str) -> None:
    tasks = tmp_path / "tasks.toml"
    tasks.write_text(LARGE.format(memory=f'"{size}"'), encoding="utf-8")
    run = predict(tool, "--machine", "demo-2s", "--tasks", tasks)
    assert run.returncode == 2 and run.stdout == "" and run.stderr.count("\n") == 1
    assert "more memory on node 0 of demo-2s than its 1024 MiB" in run.stderr


def test_random_sets_against_the_best_there_is(tool: Path) -> None:
    words = ("--machine", "demo-2s", "--random", 60, "--seed", 7, "--max-tasks", 3)
    result = found(tool, *words)
    assert result == found(tool, *words)
    scores = {score["policy"]: score for score in result["random"]}
    assert set(scores) == set(all_policies(tool))
    for name, score in scores.items():
        assert score["worst_of_best"] <= score["mean_of_best"] <= 1 + TOLERANCE, name
    assert scores["none"]["cases"] == 60
    assert scores["none"]["mean_of_best"] < scores["measured"]["mean_of_best"]
    assert found(tool, "--machine", "demo-2s", "--random", 60, "--seed", 8)["random"] != result["random"]


def test_every_policy_can_act(tool: Path) -> None:
    """On nodes of the size that machines have, and with links that differ, which asymsched is for."""
    words = ("--machine", "opteron-6172-4s", "--random", 8, "--node-memory", "8GiB")
    scores = {score["policy"]: score for score in found(tool, *words)["random"]}
    assert scores.pop("none")["acted"] == 0
    assert {name: score["acted"] for name, score in scores.items() if not 0 < score["acted"] <= 8} == {}
    assert scores["n-mass"]["pages_moved"] == 0  # tasks moved: that counts too
    large = {score["policy"]: score
             for score in found(tool, "--machine", "demo-2s", "--random", 8, "--node-memory", "8GiB")["random"]}
    assert large["asymsched"]["acted"] == 0  # two nodes have one link


def test_snapshot_of_isolated_cpus(tool: Path, tmp_path: Path) -> None:
    """A task on CPUs that no task may be given still runs there."""
    snapshot = json.loads(subprocess.run([tool, "ps", "--json", str(os.getpid())], capture_output=True, check=True).stdout)
    nodes = snapshot["machine"]["nodes"]
    most = max(nodes, key=lambda node: node["usable_cpus"])
    snapshot["machine"]["nodes"] = [most | {"id": 0, "distances": [10, 20]},
                                    most | {"id": 1, "distances": [20, 10], "cpus": "1000"}]
    snapshot["tasks"] = [task | {"node": 0, "pages": {"0": 9}, "file_pages": {"0": 0}, "shm_pages": {"0": 0}, "shared_pages": 0,
                                 "accesses": None} for task in snapshot["tasks"]]
    for node, usable in zip(snapshot["machine"]["nodes"], (0, 1), strict=True):
        node["usable_cpus"] = usable
    path = tmp_path / "isolated.json"
    path.write_text(json.dumps(snapshot), encoding="utf-8")
    (case,) = found(tool, "--snapshot", path, "-p", "none")["cases"]
    assert case["throughput"]["before"] > 0 and case["tasks"] == "isolated.json" and case["model"] == "derived from distances"
    snapshot["machine"]["nodes"][1]["usable_cpus"] = 0
    path.write_text(json.dumps(snapshot), encoding="utf-8")
    run = predict(tool, "--snapshot", path)
    assert run.returncode == 2 and run.stdout == "" and "no CPU of its nodes is usable" in run.stderr


@pytest.mark.parametrize(("words", "says"), [
    ((), "no --machine or --snapshot"),
    (("--machine", "demo-2s"), "no tasks"),
    (("--tasks", TASKS), "no --machine or --snapshot"),
    (("--machine", "nowhere", "--tasks", TASKS), "there is no machine 'nowhere': numaplace lab list prints the names"),
    (("--machine", "demo-2s", "--tasks", "nothing.toml"), "nothing.toml cannot be read: No such file"),
    (("--machine", "demo-2s", "--tasks", TASKS, "-p", "best"), 'no policy "best"'),
    (("--machine", "demo-2s", "--tasks", TASKS, "-p", "n-mass:colour=red"), 'no option "colour": use '),
    (("--machine", "demo-2s", "--tasks", TASKS, "-p", "maximum-local:files=on"), "leave out files=on"),
    (("--machine", "demo-2s", "--random", "many"), "many"),
    (("--machine", "demo-2s", "--random", 1, "--max-tasks", 0), "--max-tasks is at least 1"),
    (("--machine", "2x2:1G", "--random", 1, "--max-tasks", 5), "--max-tasks 5 is more than the 4 CPUs of machine 2x2:1G"),
    (("--machine", "demo-2s", "--random", 1, "--node-memory", "8 GB"), '"8 GB" is not a size from 0 to 1024TiB'),
    (("--snapshot", TASKS), "is not JSON"),
    (("--snapshot", "nothing.json"), "nothing.json cannot be read"),
])
def test_bad_input(tool: Path, words: tuple, says: str) -> None:
    run = predict(tool, *words)
    assert run.returncode == 2
    assert says in run.stderr
    assert run.stderr.count("\n") == 1 and run.stdout == ""


def test_a_snapshot_that_is_none_ends_plan_and_predict_alike(tool: Path) -> None:
    for words in (("--snapshot", TASKS), ("--snapshot", "nothing.json")):
        planned = subprocess.run([tool, "plan", "-p", "none", *words], capture_output=True, text=True, check=False)
        predicted = predict(tool, *words)
        assert (planned.returncode, planned.stdout) == (predicted.returncode, predicted.stdout) == (2, "")
        assert predicted.stderr == planned.stderr.replace("numaplace: ", "numaplace: predict: ")
