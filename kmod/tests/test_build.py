# SPDX-License-Identifier: GPL-2.0-only
"""Building the module as others do: by dkms for a kernel that does not run, and where it cannot be built."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from experiments.lab import kernels
from experiments.paths import cache

TOP = Path(__file__).resolve().parents[2]
SOURCES = ("Kbuild", "dkms.conf", "kmod")


NEEDED = ("X86_64", "NUMA", "MIGRATION", "DEVICE_MIGRATION", "CGROUPS", "TMPFS", "TRACEPOINTS", "DEBUG_FS")


def headers(series: str, flavour: str = "common") -> Path:
    folder = kernels.find(series).image.parents[1] / "usr" / "src"
    return next(path for path in folder.glob("linux-headers-*") if path.name.endswith(f"-{flavour}"))


def copy_sources(to: Path):
    to.mkdir(parents=True)
    for name in SOURCES:
        copy = shutil.copytree if (TOP / name).is_dir() else shutil.copy
        copy(TOP / name, to / name)


@pytest.mark.long("builds the module")
def test_dkms_builds_for_a_kernel_that_does_not_run(tmp_path):
    """From read-only sources, and into places of this test's own."""
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


def excluded_from_dkms(release: str, config: str, tmp_path: Path, **environment: str) -> bool:
    """Whether dkms leaves a kernel of that name and configuration out, and says so in place of building."""
    headers = tmp_path / "headers"
    headers.mkdir()
    (headers / ".config").write_text(config)
    copy_sources(tmp_path / "src" / "numaplace-0.1.0")
    for folder in ("tree", "install"):
        (tmp_path / folder).mkdir()
    done = subprocess.run(
        ["dkms", "build", "numaplace/0.1.0", "-k", release, "--kernelsourcedir", headers, "--dkmstree", tmp_path / "tree",
         "--sourcetree", tmp_path / "src", "--installtree", tmp_path / "install"],
        env=os.environ | environment, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    assert (done.returncode == 77) == ("BUILD_EXCLUSIVE" in said), said
    return done.returncode == 77


@pytest.mark.parametrize("release, change, excluded", [
    ("6.12.95+deb12-amd64", ("", ""), False),
    ("6.1.0-50-amd64", ("", ""), False),
    ("7.3.4+deb13-amd64", ("", ""), False),
    ("6.19.1-amd64", ("", ""), True),
    ("6.11.0-19-generic", ("", ""), True),
    ("7.4.1+deb13-amd64", ("", ""), True),
    ("6.0.12-amd64", ("", ""), True),
    ("5.10.0-30-amd64", ("", ""), True),
    ("8.0.1-amd64", ("", ""), True),
    ("6.12.95+deb12-rt-amd64", ("# CONFIG_PREEMPT_RT is not set", "CONFIG_PREEMPT_RT=y"), True),
    ("6.12.95+deb12-amd64", ("CONFIG_DEVICE_MIGRATION=y", ""), True),
    ("6.12.95+deb12-amd64", ("CONFIG_CGROUPS=y", ""), True),
    ("6.12.95+deb12-amd64", ("CONFIG_TRACEPOINTS=y", ""), True),
    ("6.12.95+deb12-amd64", ("CONFIG_NUMA=y", ""), True),
    ("6.12.95+deb12-amd64", ("CONFIG_MIGRATION=y", ""), True),
    ("6.12.95+deb12-amd64", ("CONFIG_DEBUG_FS=y", ""), True),
])
def test_dkms_leaves_out_kernels_that_the_module_is_not_for(release, change, excluded, tmp_path):
    kernel = kernels.find("6.12")
    config = kernel.image.parents[1] / "usr" / "src" / f"linux-headers-{kernel.release}" / ".config"
    assert excluded_from_dkms(release, config.read_text().replace(*change) if change[0] else config.read_text(), tmp_path) == excluded


def read_kbuild(series: str, *words: str) -> subprocess.CompletedProcess:
    """Kbuild alone, as a kernel's own makefiles read it."""
    return subprocess.run(
        ["make", "--no-print-directory", "-f", "-", f"srctree={headers(series)}", "src=.", "CONFIG_MODULES=y",
         *(f"CONFIG_{option}=y" for option in NEEDED), *words, "flags"],
        input="include Kbuild\nflags:;@echo '$(filter -DHAVE_%,$(ccflags-y))'\n",
        cwd=TOP, capture_output=True, text=True, check=False)


def test_kbuild_finds_what_the_headers_have():
    assert read_kbuild("6.12").stdout.split() == []
    assert read_kbuild("7").stdout.split() == ["-DHAVE_SELECT_COMPOUND", "-DHAVE_LEAFOPS", "-DHAVE_EXIT_GROUP_DEAD",
                                              "-DHAVE_NEWTASK_U64"]


def refused(done: subprocess.CompletedProcess) -> str:
    assert done.returncode == 2, done.stdout + done.stderr
    line, = done.stderr.splitlines()
    return re.sub(r"^Kbuild:\d+: \*\*\* (.*)\.  Stop\.$", r"\1", line)


def test_kbuild_without_headers_to_look_into_neg(tmp_path):
    """Features that are looked for in the wrong place would all be missing without a notice."""
    assert refused(read_kbuild("7", f"srctree={tmp_path}")) == \
        f"numaplace: there is no {tmp_path}/include/linux/migrate.h, in which the kernel's features are looked up"


@pytest.mark.parametrize("option", NEEDED)
def test_kbuild_refuses_a_kernel_without_what_the_module_needs(option):
    assert refused(read_kbuild("6.12", f"CONFIG_{option}=")) == \
        f"numaplace: this kernel is built without CONFIG_{option}, and the module needs it"


def test_kbuild_refuses_preempt_rt_by_name():
    assert refused(read_kbuild("6.12", "CONFIG_PREEMPT_RT=y")).startswith("numaplace: not for kernels with CONFIG_PREEMPT_RT: ")


def build(name: str, series: str, *words: str) -> subprocess.CompletedProcess:
    """In the cache, which the root of another release sees, and whose path has no blanks."""
    folder = cache() / "tests" / name
    shutil.rmtree(folder, ignore_errors=True)
    copy_sources(folder)
    try:
        return subprocess.run([TOP / "setup" / "kernel-build", series, f"M={folder}", *words], capture_output=True,
                              text=True, check=False)
    finally:
        shutil.rmtree(folder)


def test_a_build_for_preempt_rt_ends_with_that_line():
    done = build("kmod-rt", "6.12", "CONFIG_PREEMPT_RT=y", "modules")
    assert done.returncode != 0
    assert "numaplace: not for kernels with CONFIG_PREEMPT_RT: " in done.stderr


def test_a_probe_of_another_kernels_prototype_does_not_build():
    done = build("kmod-wrong-probe", "6.12", "KCFLAGS=-DHAVE_EXIT_GROUP_DEAD", "kmod/inherit.o")
    assert done.returncode != 0
    assert "check_trace_callback_type_sched_process_exit" in done.stderr


def test_builds_without_transparent_huge_pages(tmp_path):
    without = cache() / "tests" / "without-thp.h"
    without.parent.mkdir(exist_ok=True)
    without.write_text("#undef CONFIG_TRANSPARENT_HUGEPAGE\n")
    done = build("kmod-no-thp", "7", f"KCFLAGS=-include {without}", "kmod/chunk.o", "kmod/classify.o")
    assert done.returncode == 0, done.stderr


@pytest.mark.long("builds the module")
def test_build_in_a_path_with_blanks(tmp_path):
    """Kernels' own makefiles do not take one: it is built in the cache."""
    place = tmp_path / "with blanks"
    shutil.copytree(TOP, place, ignore=shutil.ignore_patterns("build", ".venv", ".git", "results", "__pycache__"))
    own = tmp_path / "cache/numaplace"
    own.mkdir(parents=True)
    (own / "kernels").symlink_to(cache() / "kernels")
    done = subprocess.run(["make", "build/modules/6.12/numaplace.ko"], cwd=place, capture_output=True, text=True, check=False,
                          env=os.environ | {"XDG_CACHE_HOME": str(own.parent)})
    assert done.returncode == 0, done.stderr
    assert (place / "build/modules/6.12/numaplace.ko").exists()


def test_build_in_a_cache_with_blanks_neg(tmp_path):
    """Said in a line, before anything is built."""
    place = tmp_path / "with blanks"
    shutil.copytree(TOP, place, ignore=shutil.ignore_patterns("build", ".venv", ".git", "results", "__pycache__"))
    done = subprocess.run(["make", "build/modules/6.12/numaplace.ko"], cwd=place, capture_output=True, text=True, check=False,
                          env=os.environ | {"XDG_CACHE_HOME": str(place)})
    assert done.returncode == 2
    assert "takes no path with blanks" in done.stderr
    assert not list(place.rglob("*.ko"))


@pytest.mark.parametrize("release, excluded", [("6.11.0-19-generic", False), ("7.4.1+deb13-amd64", False), ("6.0.12-amd64", True),
                                               ("8.0.1-amd64", True)])
def test_dkms_builds_for_an_untested_kernel_where_it_is_told_to(release, excluded, tmp_path):
    kernel = kernels.find("6.12")
    config = kernel.image.parents[1] / "usr" / "src" / f"linux-headers-{kernel.release}" / ".config"
    assert excluded_from_dkms(release, config.read_text(), tmp_path, NUMAPLACE_ALLOW_UNTESTED="1") == excluded
