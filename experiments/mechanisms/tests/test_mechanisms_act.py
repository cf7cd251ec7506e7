# SPDX-License-Identifier: GPL-2.0-only
"""Each mechanism acts on each kernel that has it, and leaves nothing behind, also when the process that switched it on is
killed."""

import pytest

from experiments.bench.lab import inside
from experiments.bench.lab.tests.mechanisms_inside import PAGES
from experiments.mechanisms.registry import KNOWN
from experiments.mechanisms.tests.act_inside import NUMAD_MIB

# DAMON is to find hot pages within the test; a program is cold after a second.
TIERED = ["tiering", "demotion", "damon:cold_ms=1000"]
TWO_NODES = ["numa-balancing", "cpuset", "start-interleave", "daemon:interval_ms=200"]
LEVELS = {"6.1": TWO_NODES, "6.12": [*TWO_NODES, *TIERED, "start-weighted"], "7": [*TWO_NODES, *TIERED, "start-weighted", "sched-ext"]}


def measure(machine: str, series: str, *words: str) -> list[dict]:
    return inside.run_program(machine, "env", "PYTHONPATH=.", "python3", "experiments/mechanisms/tests/act_inside.py", *words,
                              timed=False, kernel=series, timeout=900)


def name(level: str) -> str:
    return level.partition(":")[0]


def pages(found: dict, node: int) -> int:
    return found["after"].get(str(node), 0)


# What a mechanism has done to a program of 64 MiB on CPU 0, of node 0.
ACTED = {
    "numa-balancing": lambda found: pages(found, 0) >= 0.9 * PAGES and found["counters"]["numa_pages_migrated"] >= 0.9 * PAGES,
    "tiering": lambda found: pages(found, 0) >= 0.9 * PAGES and found["counters"]["pgpromote_success"] >= 0.9 * PAGES,
    "demotion": lambda found: 0.4 * PAGES <= pages(found, 2) <= 0.6 * PAGES,
    # It samples, and the kernel tunes how much it moves: how fast is its own affair. Without it no page leaves slow memory.
    "damon": lambda found: pages(found, 0) >= 0.02 * PAGES and found["threads_s"] > 0,
    "cpuset": lambda found: pages(found, 0) == PAGES,
    "start-interleave": lambda found: max(found["after"].values()) - min(found["after"].values()) <= 0.01 * PAGES,
    "start-weighted": lambda found: len(found["after"]) == 3,
    "daemon": lambda found: found["cpus"] == [4, 5, 6, 7],
    "sched-ext": lambda found: found["scheduler"].startswith("home_node") and set(found["ran_on"]) <= set(found["cpus"][4:]),
}


@pytest.mark.lab
@pytest.mark.full("a boot, and seconds for each mechanism")
@pytest.mark.parametrize("series", LEVELS)
def test_each_acts_and_leaves_nothing(series: str) -> None:
    found = measure("cxl-3n", series, *LEVELS[series])
    assert [one["level"] for one in found] == LEVELS[series]
    assert [one for one in found if not ACTED[name(one["level"])](one) or one["left"]] == []


@pytest.mark.lab
@pytest.mark.full("a boot of kernel 7 with eight mechanisms; numad's is ended so in make check")
def test_nothing_is_left_after_sigkill() -> None:
    levels = [level for level in LEVELS["7"] if not KNOWN[name(level)].starts]
    found = measure("cxl-3n", "7", "--killed", *levels)
    assert [one["level"] for one in found if one["said"] == "set up" and one["changed"]] == levels
    assert [one for one in found if one["left"]] == []


@pytest.mark.lab
@pytest.mark.full("what numad does, which is another project's program")
def test_numad_binds_a_program_to_the_node_of_its_pages() -> None:
    found, = measure("demo-2s", "6.12", "numad-daemon:interval_s=1")
    assert found["cpus"] == [2, 3] and pages(found, 1) >= 0.99 * NUMAD_MIB * 256 and not found["left"], found


@pytest.mark.lab
@pytest.mark.long("takes more than 10 s: boots, and numad's interval")
def test_numad_ends_after_sigkill() -> None:
    """It changes settings of the machine at its start."""
    killed, = measure("demo-2s", "6.12", "--killed", "numad-daemon:interval_s=1")
    assert killed["changed"] and not killed["left"], killed
