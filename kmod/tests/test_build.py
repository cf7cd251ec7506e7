# SPDX-License-Identifier: GPL-2.0-only
"""Building the module as others do: by dkms for a kernel that does not run, and where it cannot be built."""

import os
import shutil
import subprocess
from pathlib import Path

from experiments.lab import kernels

TOP = Path(__file__).resolve().parents[2]
SOURCES = ("Kbuild", "dkms.conf", "kmod")


def copy_sources(to: Path):
    to.mkdir(parents=True)
    for name in SOURCES:
        copy = shutil.copytree if (TOP / name).is_dir() else shutil.copy
        copy(TOP / name, to / name)


def test_dkms_builds_for_a_kernel_that_does_not_run(tmp_path):
    """From sources that nobody may write to, and into places of this test's own."""
    kernel = kernels.find("6.12")
    release = kernel.release
    assert release != os.uname().release
    source = tmp_path / "src" / "numaplace-0.1.0"
    copy_sources(source)
    subprocess.run(["chmod", "-R", "a-w", source], check=True)
    before = sorted(source.rglob("*"))
    for folder in ("tree", "install"):
        (tmp_path / folder).mkdir()
    headers = kernel.image.parents[1] / "usr" / "src" / f"linux-headers-{release}"
    built = subprocess.run(
        ["dkms", "build", "numaplace/0.1.0", "-k", release, "--kernelsourcedir", headers, "--dkmstree", tmp_path / "tree",
         "--sourcetree", tmp_path / "src", "--installtree", tmp_path / "install"],
        capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    module, = (tmp_path / "tree").rglob("numaplace.ko*")
    magic = subprocess.run(["modinfo", "-F", "vermagic", module], check=True, capture_output=True, text=True).stdout
    assert magic.split()[0] == release
    assert sorted(source.rglob("*")) == before
    assert not list((tmp_path / "tree").rglob("numaplace_kunit.ko*"))


def test_build_in_a_path_with_blanks_neg(tmp_path):
    """Kernels' own makefiles do not take one; that is said, in a line, before anything is built."""
    place = tmp_path / "with blanks"
    shutil.copytree(TOP, place, ignore=shutil.ignore_patterns("build", ".venv", ".git", "results", "__pycache__"))
    done = subprocess.run(["make", "build/modules/6.12/numaplace.ko"], cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "takes no path with blanks" in done.stderr
    assert not list(place.rglob("*.ko"))
