# SPDX-License-Identifier: GPL-2.0-only
"""Tiering: NUMA balancing in its second mode promotes hot pages of slow memory, and reclaim demotes cold ones."""

from pathlib import Path

from ..host.guard import NUMA_BALANCING
from .demotion import COUNTERS, DEMOTION
from .mechanism import Parameter, Switch, explain_one_tier, missing
from .numa_balancing import SCANS, SETTINGS

RATE_LIMIT = Path("/proc/sys/kernel/numa_balancing_promote_rate_limit_MBps")
HOT = Parameter("a page is hot that is touched so soon after it was unmapped", 1, 60000)
RATE = Parameter("MB/s that are promoted, at most", 1, 65536, of_bytes=True)


class Tiering(Switch):
    """Switches promotion of hot pages and demotion of cold ones on."""

    name = "tiering"
    about = "promotion of hot pages and demotion of cold ones (numa_balancing=2, demotion_enabled)"
    parameters = SCANS | {"hot_threshold_ms": HOT, "promote_rate_limit_mbps": RATE}
    counters = ("numa_hint_faults", "pgpromote_candidate", "pgpromote_success", *COUNTERS)
    threads = ("kswapd",)
    files = {name: SETTINGS / name for name in (*SCANS, "hot_threshold_ms")} | {"promote_rate_limit_mbps": RATE_LIMIT}
    switches = {DEMOTION: "true", NUMA_BALANCING: "2"}

    def lacks(self, nodes):
        """Returns why nothing can be promoted or demoted here; None where it can."""
        return super().lacks(nodes) or missing(RATE_LIMIT) or explain_one_tier()
