# SPDX-License-Identifier: GPL-2.0-only
"""The commands of the documents for a machine with two nodes and the module (```sh lab) run there."""
import os
from pathlib import Path

import pytest

from tests import documents

PAGES = [page for page in documents.list_pages() if any(b.kind == "lab" for b in documents.read_blocks(page))]
pytestmark = pytest.mark.full("commands of pages, whose options make check knows")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands(module: None, tool, tmp_path: Path, page: Path) -> None:
    documents.save_files(page, tmp_path)
    before = os.sched_getaffinity(0)
    documents.run_blocks([b for b in documents.read_blocks(page) if b.kind == "lab"], tmp_path, 1000)
    assert os.sched_getaffinity(0) == before
