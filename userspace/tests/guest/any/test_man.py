# SPDX-License-Identifier: GPL-2.0-only
"""The examples of the manual pages do what they say where there are two nodes and the module."""
import os
from pathlib import Path

import pytest

from tests import man_examples

ROOT = Path(__file__).resolve().parents[4]
PAGES = [page for command, page in man_examples.list_pages(ROOT / "build" / "man") if command not in man_examples.ELSEWHERE]
pytestmark = pytest.mark.full("examples of pages, whose options make check knows")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples(module: None, tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: Path) -> None:
    monkeypatch.setenv("PATH", f"{ROOT / 'build'}:{os.environ['PATH']}")
    assert man_examples.run_examples(page, tmp_path) > 0
