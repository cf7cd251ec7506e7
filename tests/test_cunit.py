# SPDX-License-Identifier: GPL-2.0-only
"""The exit status of a program of CUnit suites."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SUITES = {
    "good": '#include "cunit_main.h"\nTEST(passes) { CU_ASSERT(1); }\n',
    "bad": '#include "cunit_main.h"\nTEST(passes) { CU_ASSERT(1); }\nTEST(fails) { CU_ASSERT(0); }\n',
}


def built(folder: Path, suites: dict[str, str]) -> Path:
    for name, text in suites.items():
        (folder / f"{name}.c").write_text(text)
    subprocess.run(["cc", "-I", ROOT / "tests", "-o", "suites", *(f"{name}.c" for name in suites),
                    ROOT / "tests" / "cunit_main.c", "-lcunit"], cwd=folder, check=True)
    return folder / "suites"


@pytest.fixture(scope="module")
def suites(tmp_path_factory) -> Path:
    return built(tmp_path_factory.mktemp("suites"), SUITES)


@pytest.mark.parametrize("words, status, ran", [
    ([], 1, ["good", "bad"]), (["good"], 0, ["good"]), (["bad"], 1, ["bad"]), (["bad", "good"], 1, ["bad", "good"]),
    (["ugly"], 2, []),
])
def test_the_status_says_whether_all_passed(suites, words, status, ran):
    done = subprocess.run([suites, *words], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    assert [line.split()[1] for line in done.stdout.splitlines() if line.startswith("Suite: ")] == ran
    assert done.stderr.count("\n") == (status == 2)


def test_a_program_without_a_test_fails(tmp_path):
    assert subprocess.run([built(tmp_path, {})], stdout=subprocess.DEVNULL, check=False).returncode == 1
