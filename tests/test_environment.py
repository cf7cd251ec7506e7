# SPDX-License-Identifier: GPL-2.0-only
"""What set-up has made is made anew where what it depends on has changed."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[1]


def set_up(tree: Path, cache: Path) -> str:
    done = subprocess.run([tree / "setup/python", "requirements-none.txt"], env=os.environ | {"XDG_CACHE_HOME": str(cache)},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout


@pytest.mark.long("makes a Python environment")
def test_a_tree_that_was_moved_gets_another_environment(tmp_path: Path) -> None:
    """The first lines of the programs in it name the folder in which it was made."""
    tree, moved = tmp_path / "tree", tmp_path / "moved"
    shutil.copytree(TOP / "setup", tree / "setup")
    (tree / "setup/requirements-none.txt").touch()
    assert "making .venv" in set_up(tree, tmp_path / "cache")
    assert set_up(tree, tmp_path / "cache") == ""
    tree.rename(moved)
    assert "making .venv" in set_up(moved, Path("/proc/none")), "where nothing can be kept: what is told is enough"


@pytest.mark.parametrize("module", ["numaplace.ko", "numaplace_lab.ko"])
def test_a_kernel_that_is_fetched_anew_gets_other_modules(tmp_path: Path, module: str) -> None:
    release, built = tmp_path / "numaplace/kernels/6.12/release", tmp_path / "modules/6.12" / module
    for path in (release, built):
        path.parent.mkdir(parents=True)
        path.touch()

    def is_old() -> bool:
        words = ["make", "-q", "-f", "setup/modules.mk", f"MODULES={tmp_path}/modules", str(built)]
        return subprocess.run(words, cwd=TOP, env=os.environ | {"XDG_CACHE_HOME": str(tmp_path)}, check=False).returncode == 1

    assert not is_old()
    os.utime(release, (built.stat().st_atime, built.stat().st_mtime + 1))
    assert is_old()
