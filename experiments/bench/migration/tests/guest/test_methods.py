# SPDX-License-Identifier: GPL-2.0-only
"""bench-migrate's methods on a few pages: each moves them all and leaves them whole. Nothing is timed."""

import json
import subprocess
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[5] / "build" / "np-move"
PAGES = 512


@pytest.mark.parametrize("threads", ["0", "2"])
@pytest.mark.parametrize("method", ["module", "move_pages", "engine", "migrate_pages"])
def test_method_moves_every_page(method, threads):
    argv = [BENCH, method, str(PAGES // 256), "0", "1", threads]
    found = json.loads(subprocess.run(argv, check=True, capture_output=True, text=True).stdout)
    assert found["whole"]
    assert found["moved"] == PAGES or (threads != "0" and found["moved"] > 0.9 * PAGES)


@pytest.mark.parametrize("words", [["teleport", "1", "0", "1", "0"], ["module", "1", "0", "1", "0", "threads=2 split=1"],
                                   ["engine", "1", "0", "1", "0", "threads=2"]])
def test_what_is_not_known_is_refused(words):
    said = subprocess.run([BENCH, *words], capture_output=True, text=True)
    assert said.returncode == 2 and said.stderr.startswith("usage:")
