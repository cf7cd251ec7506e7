# SPDX-License-Identifier: GPL-2.0-only
"""Looks at files that a test writes in the place of the kernel's and the lab's."""

from pathlib import Path

import pytest

from experiments.mechanisms import activity, looks
from tests.waiting import eventually


@pytest.fixture
def count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Writes what is counted: pages moved by the kernel and by the module, page faults, lines read from both nodes by two CPUs."""
    files = {"vmstat": activity.VMSTAT, "stats": activity.MODULE, "lab": looks.LAB}
    for name, (module, constant) in {"vmstat": (activity, "VMSTAT"), "stats": (activity, "MODULE"), "lab": (looks, "LAB")}.items():
        files[name] = tmp_path / name
        monkeypatch.setattr(module, constant, files[name])

    def replace(name: str, text: str) -> None:  # at once: a look that comes meanwhile sees the one or the other text
        files[name].with_suffix(".new").write_text(text)
        files[name].with_suffix(".new").replace(files[name])

    def write(kernel: int, module: int, faults: int, near: int, far: int) -> None:
        replace("vmstat", f"nr_free_pages 9\npgmigrate_success {kernel}\npgmigrate_fail 0\nnuma_hint_faults {faults}\n")
        replace("stats", f"moves=1 moved={module} shared=0\n")
        replace("lab", "".join(f"cpu={cpu} dram_node0={near} dram_node2={far}\n" for cpu in (0, 1)))
    write(100, 10, 7, 1000, 2000)
    return write


def test_looks_count_from_the_first(count) -> None:
    found = looks.Looks(0.01, ["numa_hint_faults", "not_of_this_kernel"])
    found.begin()
    count(150, 30, 9, 1100, 2500)
    assert eventually(lambda: len(found.texts) >= 3)
    count(160, 30, 9, 1100, 2600)
    first, *between, last = found.end()
    assert first["moved"] == 0 and first["accesses"] == {"0": 0, "2": 0} and len(between) >= 2
    assert between[0]["moved"] in (0, 50, 70) and last["moved"] == 80
    assert last["counters"] == {"numa_hint_faults": 2} and last["accesses"] == {"0": 200, "2": 1200}
    assert [look["t_s"] for look in (first, *between, last)] == sorted(look["t_s"] for look in (first, *between, last))
    assert not found.thread.is_alive()


def test_without_module_and_lab_only_the_kernel_is_counted(count, tmp_path: Path) -> None:
    for name in ("stats", "lab"):
        (tmp_path / name).unlink()
    found = looks.Looks(60, ["numa_hint_faults"])
    found.begin()
    first, last = found.end()
    assert first.keys() == last.keys() and last["accesses"] == {} and last["counters"] == {"numa_hint_faults": 0}
