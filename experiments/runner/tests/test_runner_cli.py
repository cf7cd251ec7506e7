# SPDX-License-Identifier: GPL-2.0-only
"""A wrong command line gives one line and a status; nothing is started or written."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from experiments.commands.experiment.cli import main, split_policies
from experiments.errors import CannotError
from experiments.host import host_nodes

ROOT = Path(__file__).resolve().parents[3]


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    status = main(list(words))
    said = capsys.readouterr()
    assert said.err.count("\n") == 1 and said.err.startswith("numaplace experiment: ")
    assert "Traceback" not in said.err
    return status, said.err


@pytest.mark.parametrize("words, said", [
    ([], "which suite?"),
    (["--all", "sort"], "takes no SUITE"),
    (["sort", "--functional"], "--functional is the lab's"),
    (["sort", "--lab", "--functional", "--timed"], "one of them"),
    (["nothing"], "suite 'nothing' does not exist; there are: "),
    (["policy-matrix", "--workloads", "cross,crass"], "workload 'crass' is not in suite"),
    (["policy-matrix", "--placements", "maximum-global"], 'no policy "maximum-global"; use one of none, maximum-local, n-mass'),
    (["policy-matrix", "--placements", "other"], "; a placement is also a mechanism: numa-balancing, tiering, "),
    (["policy-matrix", "--placements", "none,n-mass:pages=go"], 'option pages of policy n-mass cannot be "go": use follow, stay'),
    (["policy-matrix", "--repeats", "0"], "--repeats 0: at least 1"),
    (["policy-matrix", "--set", "triad.sise=4M"], "triad.size"),
    (["policy-matrix", "--set", "triad.seconds=long"], "the value is no float"),
    (["policy-matrix", "--kernel", "6.1"], "--lab"),
    (["policy-matrix", "--resume", "--force"], "one of them"),
    (["policy-matrix", "--lab", "demo-9s"], "demo-9s"),
    (["policy-matrix", "--lab", "demo-2s", "--kernel", "5.4"], "5.4"),
])
def test_bad_input(capsys, tmp_path: Path, monkeypatch, words: list[str], said: str) -> None:
    monkeypatch.chdir(tmp_path)
    status, text = refused(capsys, "run", *words, "--out", "out")
    assert (status, said in text) == (2, True), text
    assert not (tmp_path / "out" / "results.jsonl").exists()


@pytest.mark.parametrize("text, policies", [
    ("none,n-mass", ["none", "n-mass"]),
    ("n-mass:pages=follow,relief=0.2,none", ["n-mass:pages=follow,relief=0.2", "none"]),
    ("none,maximum-local:pages=stay,penalty=1.3,n-mass:pages=stay", [
        "none", "maximum-local:pages=stay,penalty=1.3", "n-mass:pages=stay"]),
    ("measured:pages=move,horizon=0#links=20,measured#knows=measured,none#2", [
        "measured:pages=move,horizon=0#links=20", "measured#knows=measured", "none#2"]),
])
def test_options_belong_to_the_policy_before_them(text: str, policies: list[str]) -> None:
    assert split_policies(text) == policies
    assert split_policies(",".join(policies)) == policies


def test_results_of_a_lab_must_be_below_the_current_folder(capsys, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    status, text = refused(capsys, "run", "policy-matrix", "--lab", "demo-2s", "--out", str(tmp_path / "there"))
    assert status == 2 and "below the current folder" in text


def one_node(root: Path, number: int, cpus: str, kib: int) -> None:
    folder = root / f"node{number}"
    folder.mkdir(parents=True)
    (folder / "cpulist").write_text(cpus + "\n")
    (folder / "distance").write_text("10 21\n")
    (folder / "meminfo").write_text(f"Node {number} MemTotal:  {kib} kB\nNode {number} MemFree: {kib} kB\n")


def test_a_machine_without_two_nodes_of_cpus_and_memory(tmp_path: Path) -> None:
    one_node(tmp_path, 0, "0-1", 1024)
    one_node(tmp_path, 1, "", 1024)
    one_node(tmp_path, 2, "2-3", 0)
    with pytest.raises(CannotError, match=r"has 1 \(node 0\): run it in the lab") as refused_:
        host_nodes.select_usable(2, "policy-matrix", host_nodes.list_nodes(tmp_path))
    assert refused_.value.status == 3
    one_node(tmp_path, 10, "4-5,7", 2048)
    assert [(n.id, n.cpus) for n in host_nodes.select_usable(2, "policy-matrix", host_nodes.list_nodes(tmp_path))] == [
        (0, (0, 1)), (10, (4, 5, 7)), (1, ())], "a node of memory alone has its place behind those that are counted"


def test_the_command_works_from_any_folder(tmp_path: Path) -> None:
    done = subprocess.run([ROOT / "build" / "numaplace", "experiment", "list", "--json"], cwd=tmp_path,
                          capture_output=True, text=True, env=os.environ | {"PYTHONPATH": ""})
    assert done.returncode == 0, done.stderr
    listed = {suite["name"]: suite for suite in json.loads(done.stdout)}
    assert listed["policy-matrix"]["observations"] == 8 * 13 * 3
