# SPDX-License-Identifier: GPL-2.0-only
"""policies/model/solver.c, called from Python: the very code that the lab's plugin runs."""

import ctypes
import subprocess
import weakref
from dataclasses import dataclass
from functools import cache
from itertools import chain

from experiments.paths import HERE

ERROR_BYTES = 256
AS_MUCH_AS_THEY_CAN = 0  # in the place of bytes a second


@dataclass(frozen=True)
class Traffic:
    """Says what a kernel's loop moves for each byte that the kernel reports."""
    write_fraction: float  # of the bytes that are moved
    moved: float    # bytes
    streams: float  # of arrays


# Without non-temporal stores a line is fetched before it is written, and written back later.
TRIAD = Traffic(write_fraction=1 / 4, moved=4 / 3, streams=3)
READ = Traffic(write_fraction=0, moved=1, streams=1)
COPY = Traffic(write_fraction=1 / 3, moved=3 / 2, streams=2)


@cache
def load_library() -> ctypes.CDLL:
    """Loads libmodel.so, which is built first in a tree."""
    if not HERE.installed:
        subprocess.run(["make", "-s", "build/libmodel.so"], cwd=HERE.sources, check=True)
    code = ctypes.CDLL(str(HERE.model))
    text, size, number, model = ctypes.c_char_p, ctypes.c_size_t, ctypes.c_double, ctypes.c_void_p
    code.native_model.argtypes, code.native_model.restype = [text, text, size], model
    code.native_derived.argtypes, code.native_derived.restype = [size, model, model, model, text, size], model
    code.native_free.argtypes = [model]
    code.native_change.argtypes = [model, text, text, number, number, text, size]
    code.native_solve.argtypes = [model, size, model, number, number, model]
    code.native_chase_ns.argtypes, code.native_chase_ns.restype = [model, ctypes.c_int, ctypes.c_int, number, number], number
    code.np_model_unloaded_ns.argtypes, code.np_model_unloaded_ns.restype = [model, ctypes.c_int, ctypes.c_int], number
    return code


class Model:
    """Holds a machine from its text form, with other values for some fields of its machine file."""

    def __init__(self, text: str, values: dict[tuple[str, str], float] | None = None):
        """Makes the model of a text, with other `values` by (table, key) of its file. ValueError: the text or a value is wrong."""
        error = ctypes.create_string_buffer(ERROR_BYTES)
        self._keep_machine(load_library().native_model(text.encode(), error, ERROR_BYTES), error)
        for (table, key), value in (values or {}).items():
            self._change_number(table, key, 0.0, value)

    @classmethod
    def derive(cls, distances: list[list[int]], cpus: list[int], memory: list[float]) -> "Model":
        """Derives the model that plans go by where nothing but the nodes and their distances is known: no number of it is
        fitted. cpus: how many each node has; memory: by node, above 0 where it has some. ValueError: there is no such model."""
        nodes, error, model = len(cpus), ctypes.create_string_buffer(ERROR_BYTES), cls.__new__(cls)
        rows = (ctypes.c_int * (nodes * nodes))(*chain.from_iterable(distances))
        pointer = load_library().native_derived(nodes, rows, (ctypes.c_int * nodes)(*cpus), (ctypes.c_double * nodes)(*memory),
                                                error, ERROR_BYTES)
        model._keep_machine(pointer, error)
        return model

    def _keep_machine(self, pointer: int | None, error: ctypes.Array) -> None:
        """Keeps the C model at `pointer`, and frees it with this object; ValueError with the text of `error` where it is null."""
        self.machine = pointer
        if not self.machine:
            raise ValueError(error.value.decode())
        weakref.finalize(self, load_library().native_free, self.machine)

    def _change_number(self, table: str, key: str, factor: float, value: float) -> None:
        """Sets [model.TABLE] KEY of every node that has it, or of every link, to factor * KEY + value.

        A key that is in neither changes nothing. ValueError: the model is refused."""
        error = ctypes.create_string_buffer(ERROR_BYTES)
        if load_library().native_change(self.machine, table.encode(), key.encode(), factor, value, error, ERROR_BYTES):
            raise ValueError(error.value.decode())

    def scale_number(self, table: str, key: str, factor: float) -> "Model":
        """Multiplies [model.TABLE] KEY of every node and link; returns this model."""
        self._change_number(table, key, factor, 0.0)
        return self

    def solve_flows(self, flows: list[tuple[int, int, float]], traffic: Traffic) -> list[tuple[float, float]]:
        """Computes, for each flow (from, to, cores), the bytes a second that it reports and its nanoseconds a line. ValueError: the
        model refuses the flows."""
        numbers = (ctypes.c_double * (3 * len(flows)))(*chain.from_iterable(flows))
        results = (ctypes.c_double * (2 * len(flows)))()
        if load_library().native_solve(self.machine, len(flows), numbers, traffic.write_fraction, traffic.streams, results):
            raise ValueError(f"the model refuses the flows {flows}")
        return [(bandwidth / traffic.moved, ns) for bandwidth, ns in zip(results[::2], results[1::2], strict=True)]

    def compute_bandwidths(self, flows: list[tuple[int, int, float]], traffic: Traffic) -> list[float]:
        return [bandwidth for bandwidth, _ in self.solve_flows(flows, traffic)]

    def compute_unloaded_ns(self, a: int, b: int) -> float:
        """Returns the latency from node a to memory of node b while nothing else runs, in ns."""
        return load_library().np_model_unloaded_ns(self.machine, a, b)

    def compute_chase_ns(self, node: int, to: int, other_cores: int, bytes_per_s: float) -> float:
        """Returns the latency, in ns, of a pointer chase by a core of a node in the memory of node `to`, while each of `other_cores` of the
        node reads bytes_per_s there, or AS_MUCH_AS_THEY_CAN."""
        return load_library().native_chase_ns(self.machine, node, to, other_cores, bytes_per_s)
