# SPDX-License-Identifier: GPL-2.0-only
"""What a simulated machine has counted, over its own time: read by the host while it runs, which the machine does not notice."""

import json
import mmap
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

# Of struct np_lab_shared and struct np_lab_cpu, experiments/lab/guest/shared.h
HEAD = struct.Struct("<QIIIIQ224s")  # magic, version, cpus, nodes, bytes of a line, now_ns, names of counters
CPU_BYTES, MAX_NODES, WORD = 384, 32, 8
LOOK_S = 0.001
STEP_NS = 1_000_000
TRIES = 10_000


class Torn(Exception):
    """Says that a CPU's counters did not stop changing while they were read."""


class Reader:
    """Reads what the plugin and the machine share (experiments/lab/guest/shared.h)."""
    def __init__(self, shared: mmap.mmap):
        self.shared = shared
        _, _, self.cpus, self.nodes, _, _, names = HEAD.unpack_from(shared)
        self.names = names.rstrip(b"\0").decode("ascii").split()

    def read_now_ns(self) -> int:
        *_, now_ns, _names = HEAD.unpack_from(self.shared)
        return now_ns

    def read_cpu(self, index: int) -> tuple[int, ...]:
        """Reads the totals of a CPU, of one moment: the named ones, then lines of DRAM by node. Torn: QEMU ended while it wrote them."""
        start = HEAD.size + index * CPU_BYTES
        after = start + (len(self.names) + MAX_NODES) * WORD
        for _ in range(TRIES):  # the number after the totals is odd while they are written
            (before,) = struct.unpack_from("<Q", self.shared, after)
            words = struct.unpack_from(f"<{len(self.names) + self.nodes}Q", self.shared, start)
            if before % 2 == 0 and struct.unpack_from("<Q", self.shared, after) == (before,):
                return words
        raise Torn

    def read_sample(self, now_ns: int) -> dict:
        """Reads the totals of all CPUs: a list by CPU for each name, and for `dram` lists by node. Torn: as of read_cpu()."""
        cpus = [self.read_cpu(index) for index in range(self.cpus)]
        named = {name: [cpu[number] for cpu in cpus] for number, name in enumerate(self.names)}
        return {"now_ns": now_ns, **named, "dram": [list(cpu[len(self.names):]) for cpu in cpus]}


def follow_counts(shared: Path, file: TextIO, ended: threading.Event):
    """Writes read_sample() as JSON for each STEP_NS of the machine's time that the host looks at, and at the end; none where Torn."""
    with shared.open("rb") as opened, mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ) as memory:
        due = 0
        while True:
            last = ended.wait(LOOK_S)
            reader = Reader(memory)
            now = reader.read_now_ns()
            if reader.cpus and (now >= due or last):
                with suppress(Torn):
                    file.write(json.dumps(reader.read_sample(now)) + "\n")
                due = now - now % STEP_NS + STEP_NS
            if last:
                return


@contextmanager
def keep_timeline(shared: Path, path: Path | None) -> Iterator[None]:
    """Keeps the timeline in the file `path`, while this block runs; of a machine without simulated time nothing."""
    if path is None:
        yield
        return
    ended = threading.Event()
    with path.open("w", encoding="ascii") as file:
        thread = threading.Thread(target=follow_counts, args=(shared, file, ended))
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
