# SPDX-License-Identifier: GPL-2.0-only
"""Reports every test that runs inside the lab as a test of its own.

tests/guest.toml stands for all of them: guest.toml::6.12::kmod/tests/guest/pages/test_x.py::test_y.
NUMAPLACE_KERNELS chooses the kernel series, "all" or a list separated by blanks.
"""

import os

import pytest

from experiments.lab import kernels
from tests import guest
from tests.not_run import pytest_report_teststatus, pytest_terminal_summary  # noqa: F401
from tests.parallel import pytest_collection_modifyitems, pytest_xdist_make_scheduler  # noqa: F401

DEFAULT = ("6.1", "6.12")
# Files that make check-quick runs, on one kernel, with the faults that show there first.
QUICK = {
    "kmod/tests/guest/tasks/test_place.py": "CPUs and memory policies, set and restored",
    "kmod/tests/guest/pages/test_kinds.py": "pages of each kind, moved whole or counted",
    "kmod/tests/guest/module/test_files.py": "the grammar and the permissions of the files",
    "userspace/tests/guest/test_migrate_options.py": "the tool beside the module",
    "experiments/migration/tests/guest/test_methods.py": "every way to move a page",
}


def chosen_series() -> list[str]:
    wanted = os.environ.get("NUMAPLACE_KERNELS", " ".join(DEFAULT)).split()
    return kernels.known_series() if wanted == ["all"] else wanted


def pytest_collect_file(file_path, parent):
    if file_path.name == "guest.toml" and file_path.parent.name == "tests":
        return GuestFile.from_parent(parent, path=file_path)
    return None


class GuestFile(pytest.File):
    def collect(self):
        tests = guest.inner_tests()
        for series in chosen_series() if tests else []:
            yield Series.from_parent(self, name=series, tests=tests)


class Series(pytest.Collector):
    def __init__(self, *, tests: list[str], **kwargs):
        super().__init__(**kwargs)
        self.tests = tests
        self.run: guest.Run | None = None
        self.add_marker(pytest.mark.lab)

    def collect(self):
        items = [InnerTest.from_parent(self, name=test) for test in self.tests]
        items.append(KernelLog.from_parent(self, name="kernel log has no fault"))
        for item in items if self.name == kernels.DEFAULT_SERIES else ():
            if isinstance(item, KernelLog) or item.name.partition("::")[0] in QUICK:
                item.add_marker(pytest.mark.quick)
        return items

    def outcome(self) -> guest.Run:
        """Boots on the first question, for the tests of this series that were selected."""
        if self.run is None:
            self.run = guest.Run(self.name)
            selected = [item.name for item in self.session.items
                        if isinstance(item, InnerTest) and item.parent is self]
            self.run.execute(guest.shortest(selected or self.tests, self.tests))
        return self.run


class GuestFailure(Exception):
    pass


class LabItem(pytest.Item):
    def repr_failure(self, excinfo, style=None):
        if isinstance(excinfo.value, GuestFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self):
        return self.path, None, f"{self.parent.name}: {self.name}"


class InnerTest(LabItem):
    def runtest(self):
        run = self.parent.outcome()
        result = run.results.get(self.name)
        if result is None:
            raise GuestFailure(run.explain_missing(self.name))
        self.add_report_section("call", "stdout", result["output"])
        if result["outcome"] == "skipped":
            pytest.skip(result["text"].removeprefix("Skipped: "))
        if result["outcome"] == "failed":
            raise GuestFailure(result["text"])


class KernelLog(LabItem):
    def runtest(self):
        run = self.parent.outcome()
        if not run.console:
            raise GuestFailure(f"there is no kernel log (status {run.status}):\n{run.output}")
        if faults := run.kernel_faults():
            raise GuestFailure("\n...\n".join(faults))
