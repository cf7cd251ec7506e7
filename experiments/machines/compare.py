# SPDX-License-Identifier: GPL-2.0-only
"""The contention model's predictions beside the figures of a machine.

By `fitted` a comparison says what the model knew: nothing of the machine but its nodes and distances, other figures of it,
or these very figures.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from ..model_fit import bergstrom
from ..model_fit.native import COPY, TRIAD, Model
from .record import Record

NOTHING, OTHERS, THESE = "no figure of this machine", "other figures of this machine", "these figures"
DERIVED = "nodes and distances"
MOST_THREADS = 8  # of a node, of which calibrate-machine measures the bandwidth from node to node
Grid = list[list[float | None]]


@dataclass(frozen=True)
class Comparison:
    """Holds what was measured and what a model predicts of it, as two grids of the same rows and columns."""

    machine: str
    source: str
    what: str
    unit: str
    model: str   # that predicts
    fitted: str  # to what
    row: str     # that a row is
    rows: list[str]
    columns: list[str]
    measured: Grid
    predicted: Grid

    @property
    def cells(self) -> list[tuple[float, float]]:
        """Returns measured and predicted, where both are there and the measured one is not 0."""
        pairs = [pair for rows in zip(self.measured, self.predicted, strict=True) for pair in zip(*rows, strict=True)]
        return [(m, p) for m, p in pairs if m and p is not None]

    @property
    def errors(self) -> list[float]:
        """Returns the errors in parts of what was measured."""
        return [p / m - 1 for m, p in self.cells]

    @property
    def mean(self) -> float | None:
        """Returns the mean of the errors without their signs; None without errors."""
        return fmean(map(abs, self.errors)) if self.errors else None

    @property
    def worst(self) -> float | None:
        """Returns the error that is farthest from 0, with its sign; None without errors."""
        return max(self.errors, key=abs) if self.errors else None


def compare_record(name: str, record: Record) -> list[Comparison]:
    """Compares the figures of a record with each model of its machine; returns the comparisons."""
    return list(_compare_measured(name, record))


def derive_model(nodes: list[dict[str, Any]], distances: list[list[int]]) -> Model:
    """Derives a model from nothing but a record's nodes (CPUs, memory in MiB) and distances."""
    return Model.derive(distances, [node["cpus"] for node in nodes], [float(node["memory_mib"]) for node in nodes])


@dataclass(frozen=True)
class Basis:
    """Holds a model of a measured machine, and what all comparisons with it have. `title` names the model: it is Comparison.model."""
    machine: str
    source: str
    title: str
    fitted: str
    model: Model
    index: dict[int, int]  # place in the model, by node id


def _compare_measured(name: str, record: Record) -> Iterator[Comparison]:
    """Yields the comparisons of a real machine's figures with the derived model, and with calibrate-machine's where there is one.

    Latencies are in ns, bandwidths in MB/s."""
    nodes, distances = record["machine"]["nodes"], record["machine"]["distances"]
    source, index = _describe_source(record), {node["id"]: k for k, node in enumerate(nodes)}
    bases = [Basis(name, source, DERIVED, NOTHING, derive_model(nodes, distances), index)]
    if record.get("model"):
        bases.append(Basis(name, source, "calibrate-machine", THESE, Model("\n".join(record["model"]) + "\n"), index))
    measured = record["measured"]
    for basis in bases:
        if measured.get("latency"):
            yield _compare_matrix(basis, "latency from node to node", measured["latency"], basis.model.compute_unloaded_ns)
        if measured.get("bandwidth"):
            yield _compare_matrix(basis, "bandwidth from node to node, triad, 8 threads at most", measured["bandwidth"],
                                  lambda a, b, model=basis.model: model.compute_bandwidths(
                                      [(a, b, min(MOST_THREADS, nodes[a]["cpus"]))], TRIAD)[0] / 1e6)
        if measured.get("contention"):
            yield _compare_contention(basis, measured["contention"])
        if any(_is_local_copy(row) for row in measured.get("numa_stream", [])):
            yield _compare_stream(basis, nodes, measured["numa_stream"])


def _describe_source(record: Record) -> str:
    """Returns where the figures of a record are from."""
    machine_is = "virtual machine" if record["machine"].get("virtual") else "machine"
    return f"measured on a {machine_is} by numaplace {record.get('numaplace', 'unknown')}"


def _compare_matrix(basis: Basis, what: str, matrix: dict[str, Any], predict: Callable[[int, int], float]) -> Comparison:
    """Compares a matrix of runs.make_matrix() with a model. predict: returns the figure, in its unit, of two nodes by their places."""
    rows, columns, index = matrix["from"], matrix["to"], basis.index
    return Comparison(basis.machine, basis.source, what, matrix["unit"], basis.title, basis.fitted, "node of the CPUs",
                      [str(a) for a in rows], [f"memory of {b}" for b in columns], matrix["mean"],
                      [[predict(index[a], index[b]) for b in columns] for a in rows])


def _compare_contention(basis: Basis, cells: list[dict[str, Any]]) -> Comparison:
    """Compares the bandwidth of local and remote threads together, in MB/s, which calibrate-machine fits apart."""
    local, remote = ({cell[side] for cell in cells} for side in ("local", "remote"))
    measured: Grid = [[None] * (max(remote) + 1) for _ in range(max(local) + 1)]
    predicted: Grid = [[None] * (max(remote) + 1) for _ in range(max(local) + 1)]
    for cell in cells:
        a, b, x, y = basis.index[cell["node"]], basis.index[cell["other"]], cell["local"], cell["remote"]
        flows = [(a, a, x)] * bool(x) + [(b, a, y)] * bool(y)
        measured[x][y] = sum(cell.get(f"{side}_mb_s") or 0 for side in ("local", "remote"))
        predicted[x][y] = sum(basis.model.compute_bandwidths(flows, TRIAD)) / 1e6
    return Comparison(basis.machine, basis.source, "bandwidth of one memory, by local and remote threads", "MB/s", basis.title,
                      basis.fitted, "local threads", [str(x) for x in range(len(measured))],
                      [f"{y} remote" for y in range(max(remote) + 1)], measured, predicted)


def _is_local_copy(row: dict[str, Any]) -> bool:
    """Checks whether a row is of plain copying of local memory, by threads that share no last-level cache where they can avoid it,
    with its bandwidth."""
    wanted = {"operation": "copy", "access": "unstrided", "memory": "local"}
    return all(row.get(name) == level for name, level in wanted.items()) and row.get("spread", "l3") == "l3" and "bandwidth_mb_s" in row


def _compare_stream(basis: Basis, nodes: list[dict[str, Any]], rows: list[dict[str, Any]]) -> Comparison:
    """Compares MB/s of local copying by threads, of a record's rows of numa_stream, with a model; calibrate-machine fits nothing to it."""
    curve = {row["threads"]: row["bandwidth_mb_s"] for row in rows if _is_local_copy(row)}
    places = [k for k, node in enumerate(nodes) if node["cpus"] and node["memory_mib"]]

    def predict_bandwidth(threads: int) -> float:
        """Predicts the MB/s of so many threads in all."""
        flows = [(k, k, n) for k, n in zip(places, bergstrom.spread_threads(len(places), threads), strict=True) if n]
        return sum(basis.model.compute_bandwidths(flows, COPY)) / 1e6

    return Comparison(basis.machine, basis.source, "bandwidth of all nodes' local memory, copy, by threads", "MB/s", basis.title,
                      NOTHING if basis.fitted == NOTHING else OTHERS, "threads", [str(n) for n in sorted(curve)], ["copy"],
                      [[curve[n]] for n in sorted(curve)], [[predict_bandwidth(n)] for n in sorted(curve)])
