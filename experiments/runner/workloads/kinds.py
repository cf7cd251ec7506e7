# SPDX-License-Identifier: GPL-2.0-only
"""The kinds of workload, and the programs that each needs."""

from __future__ import annotations

import shutil

from ...errors import CannotError
from ...host import packages
from ...host.tool import MAKE_TOOLS
from ...paths import HERE
from ..suite.suite import Suite
from .attached import Attached
from .command import Command
from .latency import Handover, Loaded
from .mem import Memory
from .memtier import RedisMemtier
from .redis import Redis, RedisBenchmark, RedisTimes, find_program
from .stealing import Stealing
from .workload import RunningWorkload

KINDS: dict[str, type[RunningWorkload]] = {
    "triad": Memory, "memory": Memory, "redis": Redis, "redis-times": RedisTimes,
    "redis-benchmark": RedisBenchmark, "redis-memtier": RedisMemtier, "stealing": Stealing,
    "loaded": Loaded, "handover": Handover, "command": Command, "running": Attached,
}
PROGRAMS = {"triad": ["np-mem"], "memory": ["np-mem"], "redis": ["np-redis"], "redis-times": ["np-redis"],
            "redis-benchmark": [], "redis-memtier": [], "stealing": ["np-steal"],
            "loaded": ["np-mem"], "handover": ["np-mem"], "command": [], "running": []}


def check_programs(suite: Suite) -> None:
    """Checks that every program that the suite starts is installed. CannotError: one is missing."""
    kinds = {workload.kind for workload in suite.workloads}
    for name in sorted({name for kind in kinds for name in PROGRAMS[kind]}):
        if not (HERE.programs / name).exists():
            raise CannotError(f"{HERE.programs / name} is missing: {MAKE_TOOLS}")
    if any(kind.startswith("redis") for kind in kinds):
        find_program("redis-server")
    if "redis-benchmark" in kinds:
        find_program("redis-benchmark")
    for workload in suite.workloads:
        if workload.kind == "command":
            packages.check_needs(workload.options["command"])
    for name in list_lacking(suite):
        raise CannotError(f"{name} is not installed, and Debian 12 does not have it: build it from its authors' "
                          "sources, or leave this suite out")


def list_lacking(suite: Suite) -> list[str]:
    """Lists the programs that a suite needs, no package has and this machine has not."""
    return [name for name in suite.needs if not shutil.which(name)]
