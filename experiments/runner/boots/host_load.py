# SPDX-License-Identifier: GPL-2.0-only
"""The load of the lab's host beside the records that a guest writes, as a guest knows its own only.

The host looks at its load while the guest adds lines, and writes it into them when the machine is off.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from statistics import fmean

from ...host import state
from ..records import manifest, results

KEY = "host_load"


class HostLoad:
    """Collects the load of the lab's host, in running tasks, while a guest appends records to the results in `directory`."""
    def __init__(self, directory: Path) -> None:
        self.directory, self.first = directory, results.count_records(directory)
        self.before = state.read_load()  # the lab's own machine is no part of it
        self.loads: dict[int, list[float]] = defaultdict(list)  # by the lines that there were

    def look(self, lines: int) -> None:
        """Reads the load now, for the record that will be line `lines` of the results, from 0."""
        self.loads[lines].append(state.read_load())

    def write(self) -> None:
        """Writes the host's load to each new record, and that of the beginning to the manifest."""
        records, load = results.read_records(self.directory), self.before
        if len(records) == self.first:
            return
        for line, record in enumerate(records[self.first:], self.first):
            load = fmean(self.loads[line]) if self.loads[line] else load  # a record that ended between two looks has that of the one before
            record[KEY] = round(load, 2)
        results.rewrite_records(self.directory, records)
        manifest.add_to_boot(self.directory, records[-1]["boot_id"], {KEY: self.before})
