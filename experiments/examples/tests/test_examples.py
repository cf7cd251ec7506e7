# SPDX-License-Identifier: GPL-2.0-only
"""Each example fails without its fix, and the failure names what is wrong; with the fix it passes."""

import shutil
import subprocess
from pathlib import Path

import pytest

from experiments.lab.command import build_words
from experiments.paths import HERE

EXAMPLES = Path(__file__).resolve().parents[1]
MACHINE = "demo-2s"

# How it is built, what its test says, and what a failure has to name.
FIRST_TOUCH = (["cc", "-O2", "-g", "-pthread", "-I", HERE.code / "experiments/lab/region", "-o", "program", EXAMPLES / "first_touch.c"],
               ["--region", "scan", "--fail-if", "remote_share > 10%"], ("anonymous mapping, 18.0 MiB", "scan (program)"))
FORKED_POOL = (["cp", EXAMPLES / "forked_pool.py", "program.py"],
               ["--region", "serve", "--fail-if", "remote_share > 10%"], ("heap", "python"))  # whose own symbols Debian strips
LOADED_TABLE = (["rustc", "-O", "-g", "-o", "program", EXAMPLES / "loaded_table.rs"],
                ["--region", "serve", "--fail-if", "dram[0] > 2 * dram[1]"], ("16.0 MiB", "loaded_table::answer"))
CASES = {"first_touch.c": FIRST_TOUCH, "forked_pool.py": FORKED_POOL, "loaded_table.rs": LOADED_TABLE}


@pytest.mark.lab
@pytest.mark.parametrize("name", CASES)
@pytest.mark.full("two boots for each of three examples")
def test_it_fails_without_its_fix_and_passes_with_it(name, tmp_path):
    build, says, names = CASES[name]
    shutil.copy(HERE.code / "experiments/lab/region/numaplace_region.py", tmp_path)
    subprocess.run(build, cwd=tmp_path, check=True)
    command = ["python3", "program.py"] if name.endswith(".py") else ["./program"]
    broken, fixed = (subprocess.run(build_words(MACHINE, [*command, *more], ["--count", *says]), cwd=tmp_path, capture_output=True, text=True,
                                    timeout=300, check=False) for more in ([], ["fixed"]))
    assert broken.returncode == 4, broken.stderr
    line = broken.stderr.splitlines()[0]
    assert says[-1] in line
    for wanted in names:
        assert wanted in line, line
    assert fixed.returncode == 0, fixed.stderr
