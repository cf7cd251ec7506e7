# SPDX-License-Identifier: GPL-2.0-only
"""Results directories for the tests of the analysis, and a browser for each file: one that nobody asks burns a processor."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.analysis.pages import report
from experiments.analysis.tests import synthetic
from experiments.analysis.tests.browser import Browser, start_chromium

HOSTILE = "<script>document.title='hacked'</script><img src=x onerror=alert(1)>\"'&$x^{\x07"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Four workloads under three policies, three repeats, warm-ups, one marked observation."""
    marked = synthetic.observation("cross", "n-mass", 4, value=1e9, marks=["numa_balancing was 1 after the run"])
    return synthetic.write(tmp_path / "results", [*synthetic.make_full(), marked])


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = synthetic.write(tmp_path_factory.mktemp("report"), synthetic.make_full())
    return report.write_report(directory)[0]


@pytest.fixture(scope="session")
def timed_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """On a platform whose times mean something: with speed-ups and the price of migrations."""
    directory = synthetic.write(tmp_path_factory.mktemp("timed"), synthetic.make_timed(), synthetic.TIMED)
    return report.write_report(directory)[0]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with start_chromium(tmp_path_factory.mktemp("profile")) as running:
        yield running
