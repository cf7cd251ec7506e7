# SPDX-License-Identifier: GPL-2.0-only
"""How `pytest -n` shares the tests out: one worker has those that boot a machine, since two machines side by side take twice
as long each; the other worker has the host's. Who has done first takes from the other."""

import pytest
from xdist.scheduler import LoadScopeScheduling

__all__ = ["order", "pytest_xdist_make_scheduler"]


class ByFile(LoadScopeScheduling):
    """The tests of a file share its fixtures. Of those inside the lab, those of a part and a series share a boot."""

    def _split_scope(self, nodeid: str) -> str:
        file, _, test = nodeid.partition("::")
        return f"{file}::{test.partition('::')[0]}" if file.endswith("guest.toml") else file

    def _assign_work_unit(self, node) -> None:
        """The first worker takes from the beginning, where the machines are, the others from the end."""
        if node is not self.nodes[0]:
            self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
        super()._assign_work_unit(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return ByFile(config, log)


def order(config, items) -> None:
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: item.get_closest_marker("lab") is None)
