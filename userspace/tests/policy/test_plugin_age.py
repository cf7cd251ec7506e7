# SPDX-License-Identifier: GPL-2.0-only
"""Plug-ins of another age than the program: policy.h with one more field in every structure stands for next year's."""
from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).parent / "plugin_age"
STRUCTURES = ["machine", "node", "task", "decision", "plan", "option", "policy"]
FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-g", "-Wall", "-Werror", "-fsanitize=address,undefined"]


def newer(header: str) -> str:
    for name in STRUCTURES:
        header, n = re.subn(rf"(struct np_{name} {{\n.*?)\n}};", r"\1\n\tuint64_t of_next_year[3];\n};", header,
                            count=1, flags=re.S)
        assert n == 1, f"policy.h has no struct np_{name}"
    return header


def cc(folder: Path, *words: object) -> None:
    done = subprocess.run(["cc", *FLAGS, *map(str, words)], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def newer_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """numaplace's policies and its loader with next year's header, and a program that asks one policy."""
    folder = tmp_path_factory.mktemp("next_year")
    shutil.copytree(ROOT / "policies", folder / "policies", ignore=shutil.ignore_patterns("tests", "bench"))
    lib = folder / "userspace/lib"
    for part in ("policy/policy_plugin", "base/error"):
        for source in ROOT.glob(f"userspace/lib/{part}.[ch]"):
            (lib / part).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, (lib / part).parent)
    header = folder / "policies/policy.h"
    header.write_text(newer(header.read_text()))
    shutil.copy(HERE / "ask.c", lib)
    cc(folder, "-o", "ask", *folder.glob("policies/**/*.c"), *lib.glob("**/*.c"), "-lm")
    return folder


def plugin(folder: Path, tree: Path) -> Path:
    """The test's policy, built with the header of that tree."""
    cc(folder, "-shared", "-fPIC", "-I", tree / "policies", "-o", "fields.so", HERE / "fields.c")
    return folder / "fields.so"


def test_one_that_is_older_works_on(newer_tree: Path, tmp_path: Path) -> None:
    done = subprocess.run([newer_tree / "ask", plugin(tmp_path, ROOT)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "fields: threshold=7 how=often",
        "10: to 0, spread -: saw pid 10, 100 pages, may 3, node 0 of 1 GB/s, 7",
        "11: to -, spread 0 (1:1:1): saw pid 11, 101 pages, may 3, node 1 of 2 GB/s, 7",
        "12: to 2, spread -: saw pid 12, 102 pages, may 3, node 2 of 3 GB/s, 7",
    ]


def test_one_that_is_as_old_gives_the_same(newer_tree: Path, tmp_path: Path) -> None:
    older = subprocess.run([newer_tree / "ask", plugin(tmp_path, ROOT)], capture_output=True, text=True, check=True)
    same = subprocess.run([newer_tree / "ask", plugin(tmp_path, newer_tree)], capture_output=True, text=True,
                          check=True)
    assert older.stdout == same.stdout


def test_one_that_is_newer_is_refused(newer_tree: Path, tmp_path: Path) -> None:
    cc(tmp_path, "-fno-sanitize=all", "-shared", "-fPIC", "-I", newer_tree / "policies", "-o", "new.so", HERE / "fields.c")
    done = subprocess.run([ROOT / "build/numaplace", "policies", "./new.so"], cwd=tmp_path, capture_output=True,
                          text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "built with a newer policy.h: struct np_machine has" in done.stderr and done.stderr.count("\n") == 1
