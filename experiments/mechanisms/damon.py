# SPDX-License-Identifier: GPL-2.0-only
"""DAMON: a kernel thread for each node samples its accesses; cold pages go to slower memory, hot ones to the fast nodes.

Settings are those of Documentation/admin-guide/mm/damon/usage.rst of the kernel. Intervals and regions are the defaults that
DAMON itself recommends there; a quota bounds what is moved, and where the kernel can tune it, its goal is a fast tier that
is almost full.
"""

from collections.abc import Iterator
from pathlib import Path

from .mechanism import Mechanism, Parameter, Scope, explain_one_tier, list_tiers, missing

ADMIN = Path("/sys/kernel/mm/damon/admin/kdamonds")
STAT = Path("/sys/module/damon_stat/parameters/enabled")  # runs from the boot on, from 6.17 on, and nothing may run beside it
MEMORY = Path("/sys/devices/system/memory")
NODES = Path("/sys/devices/system/node")
MOST = (1 << 64) - 1
MOST_COUNT = (1 << 32) - 1
RESET_MS = 1000
USED, FREE = ("node_mem_used_bp", 9970), ("node_mem_free_bp", 50)  # of 10000


class Damon(Mechanism):
    """Runs a kernel thread of DAMON for each node of the fastest and of the slowest tier."""

    name = "damon"
    about = "DAMON moves cold pages to slower memory and hot ones back (DAMOS migrate_cold, migrate_hot)"
    parameters = {
        "sample_ms": Parameter("between two looks at a region", 1, 1000, 5),
        "aggregation_ms": Parameter("over which accesses are counted", 10, 10000, 100),
        "regions": Parameter("that each node is divided into, at most", 10, 10000, 1000),
        "hot_percent": Parameter("of the looks, in which a hot region was accessed, at least", 1, 100, 5),
        "cold_ms": Parameter("for which a cold region was not accessed", 100, 600000, 5000),
        "quota_mbps": Parameter("MB/s that are moved each way, at most", 1, 65536, 200, of_bytes=True),
    }
    counters = ("pgmigrate_success",)
    threads = ("kdamond",)

    def lacks(self, nodes):
        """Returns why DAMON cannot move pages here; None where it can."""
        return super().lacks(nodes) or missing(ADMIN / "nr_kdamonds") or explain_one_tier() or explain_in_use()

    def set_up(self, scope: Scope) -> None:
        """Describes a kernel thread for each node of the fastest and the slowest tier in sysfs and starts it; the guard undoes it."""
        fast, *_, slow = list_tiers()  # nodes; lacks() has found two tiers or more
        schemes = [(node, "migrate_cold", slow[0]) for node in fast] + [(node, "migrate_hot", fast[0]) for node in slow]
        with scope.changing(self.name):
            if STAT.exists():
                scope.guard.write(STAT, "N")
            scope.guard.write(ADMIN / "nr_kdamonds", str(len(schemes)))
            for number, (node, action, target) in enumerate(schemes):
                self._describe_node(ADMIN / str(number), node, action, target, fast[0])
                scope.guard.write(ADMIN / str(number) / "state", "on")

    def _describe_node(self, folder: Path, node: int, action: str, to: int, fast: int) -> None:
        """Writes to a kernel thread's folder that it samples the memory of `node` and sends pages to node `to`. action: of DAMOS,
        migrate_hot or migrate_cold; fast: the node whose use of memory controls the quota. OSError: the kernel refuses it."""
        write_values(folder, {"contexts/nr_contexts": 1})
        context = folder / "contexts/0"
        write_values(context, {"operations": "paddr", "targets/nr_targets": 1, "schemes/nr_schemes": 1,
                               "monitoring_attrs/intervals/sample_us": self.values["sample_ms"] * 1000,
                               "monitoring_attrs/intervals/aggr_us": self.values["aggregation_ms"] * 1000,
                               "monitoring_attrs/nr_regions/min": 10,
                               "monitoring_attrs/nr_regions/max": self.values["regions"]})
        ranges = list(list_ranges(node))
        write_values(context / "targets/0/regions", {"nr_regions": len(ranges)})
        for number, (start, end) in enumerate(ranges):
            write_values(context / "targets/0/regions" / str(number), {"start": start, "end": end})
        write_values(context / "schemes/0", self._make_scheme(action, to))
        metric, share = USED if action == "migrate_hot" else FREE
        self._tune_quota(context / "schemes/0/quotas", metric, share, fast)

    def _make_scheme(self, action: str, to: int) -> dict[str, int | str]:
        """Makes the values of the scheme's files: which regions it takes, and the bytes that it moves at most each RESET_MS.

        Accesses are in looks of an aggregation in which a region was accessed, an age in aggregations."""
        looks = max(1, self.values["aggregation_ms"] // self.values["sample_ms"])
        hot = max(1, looks * self.values["hot_percent"] // 100)
        least_accesses, most_accesses, least_age = (hot, MOST_COUNT, 0) if action == "migrate_hot" else (
            0, 0, self.values["cold_ms"] // self.values["aggregation_ms"])
        return {"action": action, "target_nid": to,
                "access_pattern/sz/min": 0, "access_pattern/sz/max": MOST,
                "access_pattern/nr_accesses/min": least_accesses, "access_pattern/nr_accesses/max": most_accesses,
                "access_pattern/age/min": least_age, "access_pattern/age/max": MOST_COUNT,
                "quotas/bytes": int(self.read_values()["quota_mbps"] * 10**6 * RESET_MS / 1000), "quotas/reset_interval_ms": RESET_MS}

    def _tune_quota(self, quotas: Path, metric: str, share: int, node: int) -> None:
        """Lets the kernel control the quota so that `metric` of a node is `share`, of 10000; does nothing where it has no such goal."""
        write_values(quotas / "goals", {"nr_goals": 1})
        goal = quotas / "goals/0"
        try:
            write_values(goal, {"target_metric": metric, "nid": node, "target_value": share})
        except OSError:
            write_values(quotas / "goals", {"nr_goals": 0})


def explain_in_use() -> str | None:
    """Returns that somebody else has described threads of DAMON, whose settings could not be put back; None where nobody has."""
    try:
        used = (ADMIN / "nr_kdamonds").read_text(encoding="ascii").strip()
    except PermissionError:  # set_up() says who may
        return None
    return None if used == "0" else f"DAMON is in use: end it, and write 0 to {ADMIN / 'nr_kdamonds'}"


def write_values(folder: Path, values: dict[str, int | str]) -> None:
    """Writes each value to the file of its name."""
    for name, value in values.items():
        (folder / name).write_text(str(value), encoding="ascii")


def list_ranges(node: int) -> Iterator[tuple[int, int]]:
    """Yields the ranges of physical addresses of the node's online memory as (start, end), in bytes."""
    size = int((MEMORY / "block_size_bytes").read_text(encoding="ascii"), 16)
    blocks = sorted(int(path.name.removeprefix("memory")) for path in NODES.glob(f"node{node}/memory[0-9]*")
                    if (path / "state").read_text(encoding="ascii").strip() == "online")
    start = None
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        start = block if start is None else start
        if following != block + 1:
            yield start * size, (block + 1) * size
            start = None
