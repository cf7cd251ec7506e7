# SPDX-License-Identifier: GPL-2.0-only
"""A kernel that is not in KERNELS: what is refused, and one that runs with both modules and a changed machine."""

import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from experiments.lab import kernels, own_kernel, qemu_program
from experiments.paths import HERE, find_in_tree

TOP = HERE.code


def run_lab(*options: str, command: tuple[str, ...] = ("true",), env: dict | None = None) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "experiments.lab", "run", "--machine", "demo-2s", *options, "--", *command],
                          cwd=TOP, env=env, capture_output=True, text=True, check=False, timeout=600)


def write_image(release: str, folder: Path) -> Path:
    """Writes the start of a bzImage of that release."""
    image = folder / "bzImage"
    image.write_bytes(b"\0" * 0x202 + b"HdrS" + b"\0" * 8 + (0x100).to_bytes(2, "little") + b"\0" * 0xF0
                      + f"{release} (me@here) #1\0".encode())
    return image


@pytest.mark.parametrize(("options", "message"), [
    (("--modules", "/lib"), "give --kernel-image too"),
    (("--kernel-image", "/nothing"), "/nothing cannot be read: No such file"),
    (("--kernel-image", "/bin/sh"), "/bin/sh is no bzImage of x86"),
    (("--kernel-image", "{image}", "--modules", "/nothing"), "there is no folder /nothing with the modules of"),
    (("--kernel-image", "{image}", "--modules", "/lib"), "which is 6.66.1-mine: give the folder lib/modules/6.66.1-mine"),
    (("--kernel-image", "{image}"), "numaplace_lab.ko is not built: give --modules a folder whose link 'build'"),
    (("--set", "dram.latency_ns=90", "--set", "dram.colour=3"), "no number 'dram.colour' to set"),
])
def test_what_is_refused_is_one_line(tmp_path, options, message):
    image = write_image("6.66.1-mine", tmp_path)
    (tmp_path / "numaplace").mkdir()
    done = run_lab(*(word.replace("{image}", str(image)) for word in options), "--no-module",
                   env=os.environ | {"XDG_CACHE_HOME": str(tmp_path),
                                     "PATH": f"{Path(qemu_program.find()).parent}:{os.environ['PATH']}"})
    last = done.stderr.splitlines()[-1]
    assert message in last and done.returncode in (2, 3), done.stderr


def test_a_tree_on_a_path_with_blanks_builds_its_modules(tmp_path, monkeypatch):
    """make takes none in the names of what it makes."""
    top, told = tmp_path / "my tree", []
    monkeypatch.setattr(own_kernel, "HERE", find_in_tree(top, top))
    monkeypatch.setattr(own_kernel.subprocess, "run", lambda words, **_: told.extend(words) or subprocess.CompletedProcess(words, 0))
    own_kernel.build_modules(SimpleNamespace(series="own-1", release="6.66.1-mine"), tmp_path)
    assert [word for word in told if " " in str(word)] == [top]
    assert told[-1] == Path("build/modules/own-1/numaplace_lab.ko")


@pytest.fixture
def own(tmp_path) -> tuple[str, ...]:
    """Returns options for the image, the modules and the headers of a kernel that set-up has unpacked, elsewhere."""
    kernel = kernels.find(kernels.DEFAULT_SERIES)
    image, modules = tmp_path / "bzImage", tmp_path / "lib/modules" / kernel.release
    shutil.copyfile(kernel.image, image)
    shutil.copytree(kernel.image.parents[1] / "lib/modules" / kernel.release, modules, symlinks=True, copy_function=os.link)
    (modules / "build").unlink()
    (modules / "build").symlink_to(kernel.image.parents[1] / "usr/src" / f"linux-headers-{kernel.release}")
    return "--kernel-image", str(image), "--modules", str(modules)


@pytest.mark.lab
@pytest.mark.full("builds modules, and a whole boot")
def test_it_runs_with_modules_that_are_built_for_it(own):
    try:
        done = run_lab(*own, "--set", "dram.latency_ns=300",
                       command=("sh", "-c", "uname -r; build/np-mem chase --size 16M --mem 0 --cpus 0 --pin --seconds 0.02; "
                                            "ls -d /sys/module/numaplace"))
        assert done.returncode == 0, done.stderr
        release, _, measured, module = done.stdout.strip().splitlines()
        assert release == kernels.find(kernels.DEFAULT_SERIES).release
        assert module == "/sys/module/numaplace"
        (samples,) = json.loads(measured)["samples_ns"]  # the machine's own work may come into one of them
        assert 300 <= statistics.median(samples) < 315, measured
    finally:
        for folder in (HERE.modules, kernels.get_folder()):
            for left in folder.glob(f"{kernels.OWN_PREFIX}*"):
                shutil.rmtree(left)
