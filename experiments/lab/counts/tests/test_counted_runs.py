# SPDX-License-Identifier: GPL-2.0-only
"""Counts of programs that run in a machine: each is planted with what it is asked for."""

import json
import os
import shlex
import shutil
import subprocess
import sys

import pytest

from experiments.paths import HERE

TABLE = HERE.code / "experiments/bench/lab/programs/planted_table.c"
LINES = (10 << 20) // 64


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Builds a program with a region."""
    made = tmp_path_factory.mktemp("counted")
    shutil.copy(TABLE, made / "table.c")
    subprocess.run(["cc", "-O1", "-g", "-I", HERE.code / "experiments/lab/region", "-o", "table", "table.c"], cwd=made, check=True)
    return made


def run_lab(folder, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "experiments.lab", "run", "--machine", "demo-2s", *arguments], cwd=folder,
                          env=os.environ | {"PYTHONPATH": str(HERE.code)}, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize(("arguments", "message"), [
    (("--count", "--fail-if", "latency > 5"), "--fail-if 'latency > 5': there is no metric 'latency'"),
    (("--functional", "--fail-if", "loads > 5"), "--functional counts no accesses: leave it out"),
    (("--functional", "--count"), "--functional counts no accesses"),
    (("--count", "--json", "no/such/file"), "--json cannot be written to 'no/such/file': No such file or directory"),
])
def test_wrong_usage_is_one_line_before_the_boot(folder, arguments, message):
    done = run_lab(folder, *arguments, "--", "true")
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


def test_a_wrong_expression_leaves_an_earlier_run_s_file(folder):
    (folder / "old.json").write_text("{}")
    assert run_lab(folder, "--count", "--json", "old.json", "--fail-if", "nope > 1", "--", "true").returncode == 2
    assert (folder / "old.json").read_text() == "{}"


@pytest.mark.lab
@pytest.mark.long("a whole boot")
def test_a_table_on_the_wrong_node_is_found_by_name(folder):
    done = run_lab(folder, "--count", "--region", "scan", "--fail-if", "remote_share > 10%", "--json", "j", "--junit", "x", "--annotate",
                   "--", "./table", "remote")
    assert done.returncode == 4, done.stderr
    first = done.stderr.splitlines()[0]
    assert "region scan: remote_share is " in first and "anonymous mapping, 10.0 MiB" in first and "by scan (table)" in first
    assert "::error file=table.c,line=" in done.stdout
    said = json.loads((folder / "j").read_text(encoding="utf-8"))
    metrics = said["metrics"]
    # Node 1's last level has kept a part of the table, whose lines come from there.
    assert metrics["dram"][1] + metrics["remote_cache"] == pytest.approx(LINES, rel=0.02)
    assert metrics["loads"] == pytest.approx(LINES, rel=0.02)
    assert metrics["pages"][1] <= (10 << 20) / 4096 + 50
    assert said["regions"] == ["scan"]
    assert 'failures="1"' in (folder / "x").read_text(encoding="utf-8")


@pytest.mark.lab
@pytest.mark.long("a whole boot")
def test_a_local_table_passes_and_the_commands_status_goes_first(folder):
    done = run_lab(folder, "--count", "--region", "scan", "--fail-if", "remote_share > 10%", "--fail-if", "loads > 9", "--", "./table")
    assert done.returncode == 4
    assert done.stderr.splitlines()[0].startswith("numaplace lab: --fail-if 'loads > 9': region scan: loads is ")
    assert "remote_share >" not in done.stderr


@pytest.mark.lab
@pytest.mark.full("two boots")
def test_a_region_that_was_not_entered_and_the_commands_own_status(folder):
    done = run_lab(folder, "--count", "--region", "other", "--", "./table")
    assert done.returncode == 2
    assert "the region 'other' was never entered, these were: scan" in done.stderr
    assert run_lab(folder, "--count", "--fail-if", "loads > 9", "--", "sh", "-c", "exit 3").returncode == 3


@pytest.mark.lab
@pytest.mark.full("a boot for a refusal of the kernel")
def test_the_command_cannot_remove_what_tells_its_tasks(folder):
    done = run_lab(folder, "--count", "--no-module", "--", "sh", "-c", "rmmod numaplace_lab || exit 9")
    assert done.returncode == 9
    assert "in use" in done.stderr


@pytest.mark.lab
@pytest.mark.long("a whole boot")
def test_a_cgroups_counts_are_its_tasks(folder):
    """Of the two runs one is in the cgroup that the command makes."""
    group = "/sys/fs/cgroup/numaplace-lab/mine"
    script = (f"mkdir {group}; ./table; sh -c 'echo $$ >{group}/cgroup.procs; exec ./table remote'")
    done = run_lab(folder, "--timed", "--cgroup", "/numaplace-lab/mine", "--json", "j", "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    said = json.loads((folder / "j").read_text(encoding="utf-8"))
    assert said["mode"] == "lab-timed"
    assert {t["regions"] for t in said["tasks"]} >= {0, 1}
    assert LINES < said["metrics"]["loads"] < 2.9 * LINES  # one scan, and what a program's start reads


@pytest.mark.lab
@pytest.mark.full("two boots")
def test_exact_counts_are_the_same_to_the_last_one(folder):
    first, again = (run_lab(folder, "--exact", "--count", "--json", f"j{i}", "--", "./table", "remote") for i in (1, 2))
    assert first.returncode == again.returncode == 0, first.stderr
    assert (folder / "j1").read_bytes() == (folder / "j2").read_bytes()
    assert json.loads((folder / "j1").read_text(encoding="utf-8"))["metrics"]["remote_dram"] > LINES / 2


@pytest.mark.lab
@pytest.mark.full("two boots")
def test_counts_of_threads_are_the_same_within_a_percent(folder):
    """Twice in one machine, one after the other."""
    (folder / "threads.sh").write_text("./table & ./table remote & ./table & wait\n", encoding="ascii")
    counts = []
    for i in (1, 2):
        done = run_lab(folder, "--count", "--region", "scan", "--json", f"t{i}", "--", *shlex.split("sh threads.sh"))
        assert done.returncode == 0, done.stderr
        counts.append(json.loads((folder / f"t{i}").read_text(encoding="utf-8"))["metrics"])
    assert counts[0]["loads"] == pytest.approx(counts[1]["loads"], rel=0.01)
