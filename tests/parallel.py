# SPDX-License-Identifier: GPL-2.0-only
"""How `pytest -n` shares the tests out: what boots a machine first, so that no worker is left with it at the end."""

import pytest
from xdist.scheduler import LoadScopeScheduling

__all__ = ["pytest_collection_modifyitems", "pytest_xdist_make_scheduler"]


class ByFile(LoadScopeScheduling):
    """The tests of a file share its fixtures. Of those inside the lab, those of a part and a series share a boot."""

    def _split_scope(self, nodeid: str) -> str:
        file, _, test = nodeid.partition("::")
        return f"{file}::{test.partition('::')[0]}" if file.endswith("guest.toml") else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return ByFile(config, log)


def pytest_collection_modifyitems(config, items):
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: item.get_closest_marker("lab") is None)
