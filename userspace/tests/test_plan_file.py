# SPDX-License-Identifier: GPL-2.0-only
"""Plans saved and shown: spreads, and policies whose shared object is gone since."""
from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "build" / "numaplace"
TUTORIAL = (ROOT / "Documentation" / "tutorial-policy.md").read_text()
MIB_PAGES = 256


def node(number: int) -> dict:
    return {"id": number, "cpus": f"{2 * number}-{2 * number + 1}", "has_memory": True,
            "mem_total": 1 << 30, "mem_free": 1 << 29,
            "distances": [10, 21] if number == 0 else [21, 10]}


def task(pid: int, mib: int) -> dict:
    return {"pid": pid, "start": 9, "comm": "big", "threads": 1, "cores": 1, "cpus": "0-1",
            "node": 0, "pages": {"0": mib * MIB_PAGES}, "file_pages": {}}


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    subprocess.run(["make", "-s", "build/numaplace"], cwd=ROOT, check=True)
    path = tmp_path / "ps.json"
    path.write_text(json.dumps({
        "snapshot": 1, "where": "real", "tasks": [task(7, 64), task(8, 4)],
        "machine": {"name": "m", "page_size": 4096, "nodes": [node(0), node(1)]}}))
    return path


@pytest.fixture
def crowded(tmp_path: Path) -> Path:
    """The tutorial's policy."""
    source = tmp_path / "crowded.c"
    source.write_text(re.search(r"^```c \S+\n(.*?)^```$", TUTORIAL, re.M | re.S)[1])
    subprocess.run(["cc", "-shared", "-fPIC", "-I", ROOT / "policies", "-o",
                    tmp_path / "crowded.so", source], check=True)
    return tmp_path / "crowded.so"


def plan(*words: object) -> dict:
    done = subprocess.run([TOOL, "plan", "--json", *map(str, words)], capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_spreads_are_kept_with_their_order(snapshot: Path, tmp_path: Path) -> None:
    saved = tmp_path / "plan.json"
    made = plan("-p", "interleave", "--snapshot", snapshot, "--save", saved)
    assert made["decisions"][0]["spread"] == {"0": 1, "1": 1}
    assert made["decisions"][0]["moves"][0]["pages"] == 32 * MIB_PAGES
    shown = plan("--show", saved)
    assert shown["decisions"] == made["decisions"] and shown["unordered"] == 0


def test_a_plugin_is_not_needed_again(snapshot: Path, crowded: Path, tmp_path: Path) -> None:
    saved = tmp_path / "plan.json"
    made = plan("-p", crowded, "-o", "from=16", "--snapshot", snapshot, "--save", saved)
    assert [d["pages_to_move"] for d in made["decisions"]] == [32 * MIB_PAGES, 0]
    crowded.unlink()
    shown = plan("--show", saved)
    assert shown["policy"] == "crowded" and shown["decisions"] == made["decisions"]
