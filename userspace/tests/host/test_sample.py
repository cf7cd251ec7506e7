# SPDX-License-Identifier: GPL-2.0-only
"""ps samples the pages of large processes: as exact as it says, and not where it would say nothing."""
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import building

ROOT = Path(__file__).resolve().parents[3]
TOOL = ROOT / "build" / "numaplace"
BEGIN = "import mmap, sys; keep = mmap.mmap(-1, {size}, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)\n"
DENSE = BEGIN.format(size=128 << 20) + "keep.write(bytes([1]) * (128 << 20)); print('ready', flush=True); sys.stdin.read()"
# 32 MiB in pages of their own, each alone in 32 MiB of addresses
SPARSE = BEGIN.format(size=256 << 30) + """
keep.madvise(mmap.MADV_NOHUGEPAGE)
for page in range(8192):
    keep[page << 25] = 1
print('ready', flush=True); sys.stdin.read()"""


@pytest.fixture
def process(request: pytest.FixtureRequest) -> Iterator[int]:
    building.build("build/numaplace")
    started = subprocess.Popen([sys.executable, "-IS", "-c", request.param], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    assert started.stdout and started.stdout.readline() == "ready\n"
    yield started.pid
    started.communicate("")


def ps(pid: int, *words: str) -> tuple[dict, str]:
    done = subprocess.run([TOOL, "ps", "--json", "-s", "0", *words, str(pid)], capture_output=True, text=True,
                          timeout=60, check=True)
    return json.loads(done.stdout)["tasks"][0], done.stderr


@pytest.mark.parametrize("process", [DENSE], indirect=True, ids=["dense"])
def test_a_large_process_is_sampled(process: int) -> None:
    (exact, silent), (sampled, said) = ps(process), ps(process, "--sample-above", "64")
    assert "pages_error" not in exact and silent == ""
    assert 0.005 < sampled["pages_error"] < 0.01
    assert "the pages of 1 large process were sampled: a node's share is within 0." in said
    assert sum(sampled["pages"].values()) == pytest.approx(sum(exact["pages"].values()), rel=0.02)
    assert "pages_error" not in ps(process, "--sample-above", "64", "--walk")[0]


@pytest.mark.parametrize("process", [SPARSE], indirect=True, ids=["sparse"])
def test_where_few_addresses_have_a_page_all_are_counted(process: int) -> None:
    counted, said = ps(process, "--sample-above", "16")
    assert "pages_error" not in counted and said == ""
    assert sum(counted["pages"].values()) >= 8192
