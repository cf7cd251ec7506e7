# SPDX-License-Identifier: GPL-2.0-only
"""The module as built: for which kernels, and from which symbols of theirs."""

import os
import re
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
SERIES = [line.split()[0] for line in (TOP / "KERNELS").read_text().splitlines() if re.match(r"\d", line)]
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "numaplace" / "kernels"


def built(series: str) -> Path:
    return TOP / "build" / "modules" / series / "numaplace.ko"


def undefined(module: Path) -> set[str]:
    listed = subprocess.run(["nm", "-u", module], check=True, capture_output=True, text=True)
    return set(listed.stdout.replace(" U ", " ").split())


def allowed() -> set[str]:
    lines = (TOP / "kmod" / "symbols.allow").read_text().splitlines()
    return {line for line in lines if line and not line.startswith("#")}


def exported(series: str) -> dict[str, str]:
    table = next((CACHE / series / "usr" / "src").glob("linux-headers-*-amd64/Module.symvers"))
    rows = [line.split() for line in table.read_text().splitlines()]
    return {row[1]: row[2] for row in rows}


@pytest.mark.parametrize("series", SERIES)
def test_module_uses_allowed_symbols_only(series):
    assert undefined(built(series)) <= allowed()


def test_no_symbol_is_allowed_that_no_build_needs():
    assert allowed() - set().union(*(undefined(built(series)) for series in SERIES)) == set()


@pytest.mark.parametrize("series", SERIES)
def test_module_needs_no_other_module(series):
    """Every symbol is of the kernel itself, exported."""
    table = exported(series)
    assert {name: table.get(name) for name in undefined(built(series))
            if table.get(name) != "vmlinux"} == {}


FEATURES = {"6.1": [], "6.12": [], "7": ["select-compound", "leafops", "exit-group-dead", "newtask-u64"]}


@pytest.mark.parametrize("series", SERIES)
def test_module_has_the_features_of_its_kernel(series):
    """A header that is not looked into, or not found, would make a module that does less and says nothing."""
    found = subprocess.run(["modinfo", "-F", "headers", built(series)], check=True, capture_output=True, text=True).stdout
    assert found.split() == ["found:", *FEATURES[series]]


@pytest.mark.parametrize("series", SERIES)
def test_module_is_for_the_kernel_of_the_lab(series):
    magic = subprocess.run(["modinfo", "-F", "vermagic", built(series)], check=True,
                           capture_output=True, text=True).stdout.split()[0]
    assert magic == (CACHE / series / "release").read_text().strip()


def test_module_looks_nothing_up_by_name():
    """No way around the exports: not by kallsyms, not by a probe."""
    for source in (TOP / "kmod").glob("*.[ch]"):
        assert not re.search(r"kallsyms|kprobe|register_ftrace", source.read_text()), source


@pytest.mark.parametrize("path", sorted((TOP / "kmod").glob("*.[ch]")), ids=lambda p: p.name)
def test_module_sources_are_small(path):
    assert len(path.read_text().splitlines()) < 500


def test_versions_agree():
    header = re.search(r'NUMAPLACE_VERSION\s+"(.*)"', (TOP / "kmod/uapi/numaplace.h").read_text())[1]
    package = re.search(r'PACKAGE_VERSION="(.*)"', (TOP / "dkms.conf").read_text())[1]
    assert header == package
