# SPDX-License-Identifier: GPL-2.0-only
"""numaplace judge in the lab: a kernel with a planted regression beside itself, stopped and gone on with."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from experiments.paths import HERE
from experiments.runner.records import results

ROOT = Path(__file__).resolve().parents[4]
OUT = Path("results/test-judge")
SLOW = "build/judge/6.12/numaplace_slow.ko"


def judge(*more: str, setup: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([HERE.programs / "numaplace", "judge", "--kernel", "6.12", "--kernel", "6.12", "--setup-b", setup, "--machine", "2x1",
                           "--boots", "3", "--workloads", "fault,fork", "--out", OUT, "--json", *more], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.lab
@pytest.mark.full("six boots in simulated time")
def test_a_planted_regression_is_named() -> None:
    """By 30 %, which no scatter hides from three boots; of two the t test asks that they agree within a twelfth.

    The standard error of a ratio of three boots is up to 2 %; how large it is told has to be right within a half. The other
    workload, in which nothing is planted, is not slower by half of it.
    """
    shutil.rmtree(ROOT / OUT, ignore_errors=True)
    done = judge(setup=f"insmod {SLOW} percent=30 only=mm-fault")
    assert done.returncode == 4, done.stderr
    found = json.loads(done.stdout)
    row, other = sorted(found["rows"], key=lambda row: row["workload"])
    assert row["verdict"] == "slower" and 1.15 < row["ratio"] < 1.45 and row["blocks"] == 3, row
    assert other["workload"] == "fork" and other["verdict"] != "slower" and 0.93 < other["ratio"] < 1.07, other
    assert found["sentence"].startswith("fault +") and found["a"]["release"] == found["b"]["release"]
    boots = [record["boot_id"] for letter in "ab" for record in results.read_records(ROOT / OUT / letter)]
    assert len(set(boots)) == len(boots) == 6
    again = judge("--resume", setup=f"insmod {SLOW} percent=30 only=mm-fault")
    assert (again.returncode, again.stdout) == (4, done.stdout) and "block" not in again.stderr


@pytest.mark.lab
@pytest.mark.full("boots in simulated time")
def test_a_set_up_that_fails_is_said() -> None:
    done = judge("--force", setup="cat /no-such-file")
    assert (done.returncode, done.stdout) == (1, "")
    assert "the set-up command 'cat /no-such-file' ended with status 1" in done.stderr.splitlines()[-1]
