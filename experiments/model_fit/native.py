# SPDX-License-Identifier: GPL-2.0-only
"""policies/model/model.c, called from Python: the very code that the lab's plugin runs."""

import ctypes
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = "build/libmodel.so"
ROOM_FOR_MACHINE = 1 << 20  # more than sizeof(struct np_model)
ROOM_FOR_ERROR = 256


@dataclass(frozen=True)
class Traffic:
    """What one line of a kernel's loop moves, for each byte that the kernel reports."""
    write_fraction: float
    moved: float
    streams: float


# Without non-temporal stores a line is fetched before it is written, and written back later.
TRIAD = Traffic(write_fraction=1 / 4, moved=4 / 3, streams=3)
COPY = Traffic(write_fraction=1 / 3, moved=3 / 2, streams=2)


class Flow(ctypes.Structure):
    """struct np_model_flow"""
    _fields_ = [("from_node", ctypes.c_int), ("to_node", ctypes.c_int),
                *((name, ctypes.c_double) for name in
                  ("cores", "outstanding", "demand_bytes_per_s", "write_fraction",
                   "posted_fraction", "streams")),
                ("from_cache", ctypes.c_bool)]


class Grant(ctypes.Structure):
    """struct np_model_grant"""
    _fields_ = [("bytes_per_s", ctypes.c_double), ("latency_ns", ctypes.c_double)]


@cache
def library() -> ctypes.CDLL:
    subprocess.run(["make", "-s", LIBRARY], cwd=ROOT, check=True)
    code = ctypes.CDLL(str(ROOT / LIBRARY))
    code.np_model_unloaded_ns.restype = ctypes.c_double
    return code


class Model:
    def __init__(self, text: str):
        self.machine = ctypes.create_string_buffer(ROOM_FOR_MACHINE)
        error = ctypes.create_string_buffer(ROOM_FOR_ERROR)
        if library().np_model_parse(self.machine, text.encode(), error,
                                    ctypes.c_size_t(ROOM_FOR_ERROR)):
            raise ValueError(error.value.decode())

    def grants(self, flows: list[tuple[int, int, float]],
               traffic: Traffic) -> list[tuple[float, float]]:
        """Of each (from, to, cores): bytes a second that it reports, and nanoseconds a line."""
        written, streams = traffic.write_fraction, traffic.streams
        array = (Flow * len(flows))(*(Flow(a, b, cores, 0, 0, written, written, streams, False)
                                      for a, b, cores in flows))
        grants = (Grant * len(flows))()
        if library().np_model_solve(self.machine, array, ctypes.c_size_t(len(flows)), grants):
            raise ValueError(f"the model refuses the flows {flows}")
        return [(grant.bytes_per_s / traffic.moved, grant.latency_ns) for grant in grants]

    def bandwidths(self, flows: list[tuple[int, int, float]], traffic: Traffic) -> list[float]:
        return [bandwidth for bandwidth, _ in self.grants(flows, traffic)]

    def unloaded_ns(self, a: int, b: int) -> float:
        return library().np_model_unloaded_ns(self.machine, a, b)
