# SPDX-License-Identifier: GPL-2.0-only
"""pytest plugin: what each test cost, as a line of JSON in the file that NUMAPLACE_COSTS names.

seconds: of the host, or of the lab machine for a test inside it. processor: seconds of the worker's process and of what it
has started and waited for, from set-up to tear-down; of the tests that share a boot the first one has all. boots: whether it
boots a machine, as its marker lab says; those of the timed boot share one.
"""

import json
import os
import re
import resource
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[1]
TABLE = TOP / "build" / "durations.txt"
LONG = 10  # seconds that a test may take without a marker
SLOWEST = 30
LINE = re.compile(r"^ *([\d.]+) s +([\d.]+) s  (\S.*)$", re.MULTILINE)


@dataclass
class Cost:
    test: str
    outcome: str = "passed"
    seconds: float = 0
    processor: float = 0
    boots: int = 0

    @property
    def part(self) -> str:
        """The folder of a test, or the boot that it shares with others."""
        file, _, test = self.test.partition("::")
        if file.endswith(".toml"):
            return f"boot {test.partition('::')[0]}"
        return str(Path(file).parent).removesuffix("/tests")


def read_processor_time() -> float:
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


class Costs:
    """Of the tests of a session, by the reports that a worker sends; a line is written when a test has ended."""

    def __init__(self, path: Path):
        self.path = path
        self.running: dict[str, Cost] = {}

    def pytest_runtest_logreport(self, report):
        cost = self.running.setdefault(report.nodeid, Cost(report.nodeid))
        cost.seconds += report.duration
        cost.processor += getattr(report, "processor", 0)
        cost.boots = max(cost.boots, getattr(report, "boots", 0))
        if report.outcome != "passed" and cost.outcome != "failed":
            cost.outcome = report.outcome
        if report.when == "teardown":
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(self.running.pop(report.nodeid))) + "\n")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    now = read_processor_time()
    report.processor = now - (item.stash.get(BEGAN, now) if call.when == "setup" else item.stash[SEEN])
    item.stash[SEEN] = now
    report.boots = getattr(item, "boots", int(any(item.iter_markers("lab")) and not any(item.iter_markers("timed_boot"))))
    return report


BEGAN, SEEN = pytest.StashKey[float](), pytest.StashKey[float]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    item.stash[BEGAN] = read_processor_time()


def pytest_configure(config):
    path = os.environ.get("NUMAPLACE_COSTS")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Costs(Path(path)))


def read_costs(path: Path) -> list[Cost]:
    return [Cost(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def make_table(costs: list[Cost]) -> str:
    """By part, then the slowest tests."""
    lines = ["processor    seconds  tests  boots  part"]
    for part, (processor, seconds, boots, tests) in sorted(group_by_part(costs).items(), key=lambda item: -item[1][0]):
        lines.append(f"{processor:7.1f} s  {seconds:7.1f} s  {tests:5}  {boots:5}  {part}")
    lines += ["", f"the {SLOWEST} slowest", "  seconds  processor  test"]
    slowest = sorted(costs, key=lambda cost: -cost.seconds)[:SLOWEST]
    return "\n".join([*lines, *(f"{c.seconds:7.1f} s  {c.processor:7.1f} s  {c.test}" for c in slowest), ""])


def group_by_part(costs: list[Cost]) -> dict[str, tuple[float, float, int, int]]:
    """Seconds of processor, seconds, number of boots and of tests."""
    parts: dict[str, list[Cost]] = {}
    for cost in costs:
        parts.setdefault(cost.part, []).append(cost)
    return {part: (sum(c.processor for c in found), sum(c.seconds for c in found), sum(c.boots for c in found), len(found))
            for part, found in parts.items()}


def list_without_reason(items: list[pytest.Item], text: str) -> list[str]:
    """Tests that took longer than LONG by the table of the last run, and have no marker that says why."""
    took = {test: float(seconds) for seconds, _, test in LINE.findall(text.partition("slowest")[2])}
    return [f"{item.nodeid} took {took[item.nodeid]:.0f} s: mark it long or full, with its reason" for item in items
            if took.get(item.nodeid, 0) > LONG and not any(item.iter_markers("long")) and not any(item.iter_markers("full"))]
