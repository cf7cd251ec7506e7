# SPDX-License-Identifier: GPL-2.0-only
"""Demotion: reclaim moves cold pages of a full node to the next memory tier instead of dropping or swapping them."""

from pathlib import Path

from .mechanism import Switch, explain_one_tier

DEMOTION = Path("/sys/kernel/mm/numa/demotion_enabled")
COUNTERS = ("pgdemote_kswapd", "pgdemote_direct", "pgdemote_khugepaged", "pgdemote_proactive")


class Demotion(Switch):
    """Switches demotion on."""

    name = "demotion"
    about = "reclaim of a full node moves cold pages to slower memory (demotion_enabled)"
    counters = COUNTERS
    threads = ("kswapd",)
    switches = {DEMOTION: "true"}

    def lacks(self, nodes):
        """Returns why nothing can be demoted here; None where it can."""
        return super().lacks(nodes) or explain_one_tier()
