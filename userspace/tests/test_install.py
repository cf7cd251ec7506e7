# SPDX-License-Identifier: GPL-2.0-only
"""`make install` into an empty folder is enough to work with, and `make uninstall` takes it back."""
from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def make(goal: str, root: Path) -> None:
    done = subprocess.run(["make", "-C", ROOT, "-s", goal, f"DESTDIR={root}", "PREFIX=/usr"],
                          capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def files(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make("install", tmp_path)
    return tmp_path


def test_the_machines_of_the_lab_are_there(root: Path) -> None:
    done = subprocess.run([root / "usr" / "bin" / "numaplace", "predict", "--machine", "demo-2s", "--random", "2",
                           "--policy", "none"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and "demo-2s" in done.stdout, done


def test_the_service_finds_its_options(root: Path) -> None:
    """Those of an earlier installation are kept."""
    unit = (root / "usr" / "lib" / "systemd" / "system" / "numaplace.service").read_text()
    options = root / "etc" / "numaplace" / "daemon.conf"
    assert "--options /etc/numaplace/daemon.conf" in unit and options.exists()
    options.write_text("policy=none\n")
    make("install", root)
    assert options.read_text() == "policy=none\n"


def test_uninstall_leaves_the_options_alone(root: Path) -> None:
    other = root / "usr" / "bin" / "other"
    other.touch()
    make("uninstall", root)
    assert files(root) == ["etc/numaplace/daemon.conf", "usr/bin/other"]
