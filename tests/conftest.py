# SPDX-License-Identifier: GPL-2.0-only
"""Reports every test that runs inside the lab as a test of its own.

tests/guest.toml stands for all of them: guest.toml::6.12-module::kmod/tests/guest/any/test_x.py::test_y.
`pytest tests/guest.toml::6.12-module -k test_y` runs that one.
The default series has two boots, one for the tests below kmod/ and one for the others. What the kernel may change, the
tests in a folder kernel/, also has a boot on each other series. With NUMAPLACE_KERNELS, "all" or a list separated by
blanks, each of these series has the first two.
"""

import os
import signal

import pytest

from experiments.lab import kernels
from tests import durations, guest
from tests.guest import Part
from tests.not_run import pytest_report_teststatus, pytest_terminal_summary  # noqa: F401
from tests.parallel import order, pytest_xdist_make_scheduler  # noqa: F401

# Read by this run already; what it starts has its own options.
os.environ.pop("PYTEST_ADDOPTS", None)
# A background job of a shell ignores these two, and so would every program that a test starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)

MODULE = Part("module", ("kmod/",))
TOOLS = Part("tools", ("userspace/", "policies/", "experiments/"), users=True)
# What the kernel may change, of both.
KERNEL = Part("kernel", (*MODULE.areas, *TOOLS.areas), "/guest/kernel/")
# Without NUMAPLACE_KERNELS. Boots that take long come first.
DEFAULT = ((kernels.DEFAULT_SERIES, TOOLS), (kernels.DEFAULT_SERIES, MODULE),
           *((series, KERNEL) for series in kernels.known_series() if series != kernels.DEFAULT_SERIES))


def choose_boots() -> list[tuple[str, Part]]:
    """The boots: a series, and which of the tests."""
    wanted = os.environ.get("NUMAPLACE_KERNELS", "").split()
    series = kernels.known_series() if wanted == ["all"] else wanted
    return [(one, part) for one in series for part in (TOOLS, MODULE)] or list(DEFAULT)


def pytest_configure(config):
    config.pluginmanager.register(durations, "durations")


def pytest_collection_modifyitems(config, items):
    order(config, items)
    text = durations.TABLE.read_text(encoding="utf-8") if durations.TABLE.exists() else ""
    found = durations.list_without_reason(items, text)
    if found and not hasattr(config, "workerinput"):  # a worker of pytest -n cannot say why it ends
        raise pytest.UsageError("\n".join(found))


def pytest_collect_file(file_path, parent):
    if file_path.name == "guest.toml" and file_path.parent.name == "tests":
        return GuestFile.from_parent(parent, path=file_path)
    return None


class GuestFile(pytest.File):
    def collect(self):
        tests = guest.list_inner_tests()
        for series, part in choose_boots() if tests else ():
            yield Boot.from_parent(self, name=f"{series}-{part.name}", series=series, part=part,
                                   tests={test: marked for test, marked in tests.items() if part.contains(test)})


class Boot(pytest.Collector):
    def __init__(self, *, series: str, part: Part, tests: dict[str, dict], **kwargs):
        super().__init__(**kwargs)
        self.series, self.part, self.tests = series, part, tests
        self.run: guest.Run | None = None
        self.add_marker(pytest.mark.lab)

    def collect(self):
        items = [InnerTest.from_parent(self, name=test) for test in self.tests]
        log = KernelLog.from_parent(self, name="kernel log has no fault")
        log.add_marker(pytest.mark.long("its time is that of the boot"))
        for item in items:
            for marker, words in self.tests[item.name].items():
                if marker != "quick" or self.series == kernels.DEFAULT_SERIES:
                    item.add_marker(getattr(pytest.mark, marker)(*words))
        if self.series == kernels.DEFAULT_SERIES and any("quick" in marked for marked in self.tests.values()):
            log.add_marker(pytest.mark.quick)
        return [*items, log]

    def read_outcome(self) -> guest.Run:
        """Boots on the first question, for the tests of this boot that were selected."""
        if self.run is None:
            self.run = guest.Run(self.series, self.part)
            selected = [item.name for item in self.session.items
                        if isinstance(item, InnerTest) and item.parent is self]
            self.run.execute(selected or list(self.tests))
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
    boots = 0

    def runtest(self):
        run = self.parent.read_outcome()
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
    boots = 1

    def runtest(self):
        run = self.parent.read_outcome()
        self.seconds = run.seconds
        if not run.console:
            raise GuestFailure(f"there is no kernel log (status {run.status}):\n{run.output}")
        if faults := run.list_kernel_faults():
            raise GuestFailure("\n...\n".join(faults))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.when == "call" and getattr(item, "seconds", None) is not None:
        report.duration = item.seconds
    return report
