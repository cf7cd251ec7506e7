# SPDX-License-Identifier: GPL-2.0-only
"""resctrl's groups belong to others. There is no resctrl here: the tree is written by hand, in a mount namespace."""
from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import building

ROOT = Path(__file__).resolve().parents[3]
TOOL = ROOT / "build" / "numaplace"
TREE = """
set -e
mount -t tmpfs none /sys/fs
mkdir -p /sys/fs/resctrl/mon_groups /sys/fs/resctrl/pod/mon_data/mon_L3_00
cd /sys/fs/resctrl
echo $TASK > pod/tasks
echo 6400 > pod/mon_data/mon_L3_00/mbm_local_bytes
echo 9600 > pod/mon_data/mon_L3_00/mbm_total_bytes
touch -d @0 $(find .)
LD_LIBRARY_PATH=$PRELOADED LD_PRELOAD=fake_pmu.so "$@" || echo "status $?"
find . -newermt @1
"""


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    building.build("build/numaplace", "build/tests/fake_pmu.so")
    if subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/sys/fs"], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")


@pytest.fixture
def sleeper() -> Iterator[int]:
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield process.pid
        process.kill()


def beside_resctrl(tmp_path: Path, task: int, groups: str, *words: object) -> subprocess.CompletedProcess[str]:
    """Standard output ends with the names of what was changed in the tree."""
    (tmp_path / "groups").write_text(groups)
    return subprocess.run(["unshare", "-m", "sh", "-c", TREE, "sh", TOOL, *map(str, words)],
                          env=os.environ | {"TASK": str(task), "PRELOADED": str(ROOT / "build" / "tests"),
                                            "FAKE_RESCTRL": str(tmp_path / "groups")},
                          capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("words", [["counters", "-n", 1, "-I", "10ms", "--pid"], ["ps", "-s", "10ms"], ["counters", "-n", 1, "-I", "10ms",
                                   "--source", "resctrl", "--pid"]])
def test_no_group_is_made_filled_or_removed(tmp_path: Path, sleeper: int, words: list) -> None:
    done = beside_resctrl(tmp_path, sleeper, "res:pod\nmon:\n", *words, sleeper)
    assert done.returncode == 0 and "/sys/fs" not in done.stderr and not done.stdout.splitlines()[-1].startswith("."), done


def test_the_group_of_a_task_is_read(tmp_path: Path, sleeper: int) -> None:
    done = beside_resctrl(tmp_path, sleeper, "res:pod\nmon:\n", "counters", "--source", "resctrl", "--json", "-n", 1,
                          "-I", "10ms", "--pid", sleeper)
    first, interval = map(json.loads, done.stdout.splitlines())
    (row,) = interval["rows"]
    assert not first["rows"] and row["cycles"]["value"] is None
    assert all((row[name]["source"], row[name]["value"]) == ("resctrl", 0) for name in ("local_dram", "remote_dram"))


@pytest.mark.parametrize("groups,words,why", [
    ("res:pod\nmon:\n", ["--pid", 1], "/sys/fs/resctrl/pod has 0 of"),
    ("res:/\nmon:\n", ["--pid", 1], "is in no group of resctrl but that of all tasks"),
    ("res:pod\nmon:\n", ["-C", 0], "not for CPUs")])
def test_a_group_that_is_not_the_tasks_own_is_refused(tmp_path: Path, sleeper: int, groups: str, words: list,
                                                      why: str) -> None:
    done = beside_resctrl(tmp_path, sleeper, groups, "counters", "--source", "resctrl", *words)
    assert done.stdout == "status 3\n" and why in done.stderr and done.stderr.count("\n") == 1, done


def test_a_source_that_there_is_not() -> None:
    done = subprocess.run([TOOL, "counters", "--source", "luck"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, 'numaplace: counters: no source "luck"; there are lab, perf, resctrl\n')
