# SPDX-License-Identifier: GPL-2.0-only
"""Reports every test that runs inside the lab as a test of its own.

tests/guest.toml stands for all of them: guest.toml::6.12-module::kmod/tests/guest/pages/test_x.py::test_y.
`pytest tests/guest.toml::6.12-module -k test_y` runs that one.
A series has two boots, one for the tests below kmod/ and one for the others. NUMAPLACE_KERNELS chooses the series of
both, "all" or a list separated by blanks.
"""

import os
import signal

import pytest

from experiments.lab import kernels
from tests import guest
from tests.guest import Part
from tests.not_run import pytest_report_teststatus, pytest_terminal_summary  # noqa: F401
from tests.parallel import pytest_collection_modifyitems, pytest_xdist_make_scheduler  # noqa: F401

# Read by this run already; what it starts has its own options.
os.environ.pop("PYTEST_ADDOPTS", None)
# A background job of a shell ignores these two, and so would every program that a test starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)

MODULE = Part("module", ("kmod/",))
TOOLS = Part("tools", ("userspace/", "policies/", "experiments/"))
# Without what depends on no kernel series: the engine of system calls, the runner of experiments, work stealing, the
# examples of manual pages and documents.
TOOLS_ONCE = Part("tools", TOOLS.folders, ("syscall", "test_runner_guest.py", "test_stealing_nodes.py", "test_man.py",
                                           "test_documents.py"))
# Without two tests that take minutes, of bpftrace's scripts and of a hundred loads.
MODULE_ONCE = Part("module", MODULE.folders, ("test_trace_scripts.py", "test_load_unload_many_times"))
# On 7 a node without a free huge page sometimes has one.
MODULE_ON_7 = Part("module", MODULE.folders, (*MODULE_ONCE.without, "fragmented"))
# Without NUMAPLACE_KERNELS. Boots that take long come first.
DEFAULT = ((kernels.DEFAULT_SERIES, TOOLS), (kernels.DEFAULT_SERIES, MODULE), ("6.1", MODULE_ONCE), ("7", MODULE_ON_7),
           ("6.1", TOOLS_ONCE))
# Files that make check-quick runs, on one kernel, with the faults that show there first.
QUICK = {
    "kmod/tests/guest/tasks/test_place.py": "CPUs and memory policies, set and restored",
    "kmod/tests/guest/pages/test_kinds.py": "pages of each kind, moved whole or counted",
    "kmod/tests/guest/module/test_files.py": "the grammar and the permissions of the files",
    "userspace/tests/guest/test_migrate_options.py": "the tool beside the module",
    "experiments/migration/tests/guest/test_methods.py": "every way to move a page",
}


def chosen() -> list[tuple[str, Part]]:
    """The boots: a series, and which of the tests."""
    wanted = os.environ.get("NUMAPLACE_KERNELS", "").split()
    series = kernels.known_series() if wanted == ["all"] else wanted
    return [(one, part) for one in series for part in (TOOLS, MODULE)] or list(DEFAULT)


def pytest_collect_file(file_path, parent):
    if file_path.name == "guest.toml" and file_path.parent.name == "tests":
        return GuestFile.from_parent(parent, path=file_path)
    return None


class GuestFile(pytest.File):
    def collect(self):
        tests = guest.inner_tests()
        for series, part in chosen() if tests else []:
            yield Boot.from_parent(self, name=f"{series}-{part.name}", series=series, part=part,
                                   tests=[test for test in tests if part.has(test)])


class Boot(pytest.Collector):
    def __init__(self, *, series: str, part: Part, tests: list[str], **kwargs):
        super().__init__(**kwargs)
        self.series, self.part, self.tests = series, part, tests
        self.run: guest.Run | None = None
        self.add_marker(pytest.mark.lab)

    def collect(self):
        items = [InnerTest.from_parent(self, name=test) for test in self.tests]
        items.append(KernelLog.from_parent(self, name="kernel log has no fault"))
        for item in items if self.series == kernels.DEFAULT_SERIES else ():
            if isinstance(item, KernelLog) or item.name.partition("::")[0] in QUICK:
                item.add_marker(pytest.mark.quick)
        return items

    def outcome(self) -> guest.Run:
        """Boots on the first question, for the tests of this boot that were selected."""
        if self.run is None:
            self.run = guest.Run(self.series, self.part)
            selected = [item.name for item in self.session.items
                        if isinstance(item, InnerTest) and item.parent is self]
            self.run.execute(guest.shortest(selected or self.tests, self.tests))
        return self.run


class GuestFailure(Exception):
    pass


class LabItem(pytest.Item):
    seconds: float | None = None  # as measured inside the lab, where the test ran

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
        self.seconds = result["seconds"]
        self.add_report_section("call", "stdout", result["output"])
        if result["outcome"] == "skipped":
            pytest.skip(result["text"].removeprefix("Skipped: "))
        if result["outcome"] == "failed":
            raise GuestFailure(result["text"])


class KernelLog(LabItem):
    """Its time is that of the whole boot."""

    def runtest(self):
        run = self.parent.outcome()
        self.seconds = run.seconds
        if not run.console:
            raise GuestFailure(f"there is no kernel log (status {run.status}):\n{run.output}")
        if faults := run.kernel_faults():
            raise GuestFailure("\n...\n".join(faults))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.when == "call" and getattr(item, "seconds", None) is not None:
        report.duration = item.seconds
    return report
