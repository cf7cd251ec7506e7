# SPDX-License-Identifier: GPL-2.0-only
"""What machine files of idle figures predict of real machines under load and between cores, beside what was published of them.

    python -m experiments.model_fit.predictions     the two numbers of each machine file that two loaded latencies make
"""

import tomllib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments.bounds import Outcome
from experiments.lab import machine
from experiments.model_fit.native import AS_MUCH_AS_THEY_CAN, READ, Model

PUBLISHED = Path(__file__).with_name("published.toml")
SATURATED = 0.985  # of the bandwidth: more is how many lines the cores keep in flight
NEAR = 0.01        # of the load that a machine file's numbers were made from
LOADED, FULL, HITM, MIXES, IDLE, ACROSS = (
    "latency under load, ns", "latency of a full controller, ns", "a line that the other socket has modified, ns",
    "bandwidth of reads with writes, GB/s", "idle latency of memory behind two links, ns", "bandwidth from another node, GB/s")
LINE = 64          # bytes
PRECISION = 1e-3   # relative, of a number that is searched
Figures = dict[str, Any]  # a machine of published.toml, whose head says what the keys are


@dataclass(frozen=True)
class Prediction:
    kind: str
    machine: str
    what: str
    predicted: float
    published: float

    @property
    def error(self) -> float:
        return self.predicted / self.published - 1


def get_number(described: machine.Machine, key: str, node: int = 0) -> float:
    """Returns a number of a node's controller, in the unit of [model.dram] of machine files; 0 where the file has none."""
    own = {entry["node"]: entry["dram"] for entry in described.model.get("node", [])}
    return own.get(node, {}).get(key, described.model["dram"].get(key, {"value": 0.0}))["value"]


def predict_loaded(name: str, described: machine.Machine, figures: Figures) -> list[Prediction]:
    """Predicts the published latencies under load, in ns; left out are those that the machine file's numbers were made from."""
    model, cores, memory_node = Model(described.model_text), len(described.nodes[0].cpus), figures.get("memory", 0)
    bytes_per_s, found = figures["node_mb_s"] * 1e6, []  # of a controller
    points = figures.get("loaded", [])
    if figures.get("full_fitted"):
        points = points[1:]  # the file's stream_lines was made from the first
    for ns, mb_s in points:  # MB/s of all loaded nodes together
        load = mb_s * 1e6 / (figures.get("loaded_nodes", 2) * bytes_per_s)
        full = load >= SATURATED
        if full or all(abs(load - fitted) > NEAR for fitted in figures["fitted"]):
            of_core = AS_MUCH_AS_THEY_CAN if full else load * bytes_per_s / (cores - 1)
            predicted = model.compute_chase_ns(0, memory_node, cores - 1, of_core)
            found.append(Prediction(FULL if full else LOADED, name, f"{load:.0%} of the bandwidth", predicted, ns))
    return found


def predict_hitm(name: str, described: machine.Machine, figures: Figures) -> list[Prediction]:
    """Predicts the ns of a line that the other socket has modified, from those in the socket and the way there; [] without figures."""
    if "hitm_ns" not in figures:
        return []
    model, far = Model(described.model_text), figures.get("far", [1])
    way = fmean(model.compute_unloaded_ns(0, node) for node in far) - model.compute_unloaded_ns(0, 0)
    return [Prediction(HITM, name, f"memory of the {home}'s node", described.model["c2c"]["local_ns"]["value"] + way,
                       figures["hitm_ns"][home]) for home in ("writer", "reader")]


def predict_mixes(name: str, described: machine.Machine, figures: Figures) -> list[Prediction]:
    """Predicts the GB/s of reads with writes, of which one takes a controller the time of 1 + write_loss reads; a socket's port is a bound.

    Left out is the mix that the machine file's write_loss was made from."""
    memory_node, port = figures.get("memory", 0), described.model["port"]["bandwidth_mb_s"]["value"] or float("inf")
    loss, controller = get_number(described, "write_loss", memory_node), get_number(described, "bandwidth_mb_s", memory_node)
    return [Prediction(MIXES, name, f"{reads} reads to a write",
                       figures.get("mixed_nodes", 2) * min(port, controller / (1 + loss / (1 + int(reads)))) / 1e3, mb_s / 1e3)
            for reads, mb_s in figures.get("mixes", {}).items() if not (figures.get("mix_fitted") and reads == "1")]


def predict_pairs(name: str, described: machine.Machine, figures: Figures) -> list[Prediction]:
    """Predicts idle latency in ns and bandwidth in GB/s between nodes of which the machine file has no figure of their own."""
    model = Model(described.model_text)
    found = [Prediction(IDLE, name, f"node {a} to {b}", model.compute_unloaded_ns(a, b), ns) for a, b, ns in figures.get("idle", [])]
    return found + [Prediction(ACROSS, name, f"node {a} to {b}",
                               model.compute_bandwidths([(a, b, len(described.nodes[a].cpus))], READ)[0] / 1e9, mb_s / 1e3)
                    for a, b, mb_s in figures.get("across", [])]


def list_predictions() -> list[Prediction]:
    """Lists the predictions of all machines of PUBLISHED."""
    published = tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))
    return [prediction for name, figures in published.items() for predict in (predict_loaded, predict_hitm, predict_mixes, predict_pairs)
            for prediction in predict(name, machine.find(figures.get("machine", name)), figures)]


def measure_predictions() -> Outcome:
    """Compares each prediction with its publication; mean and worst error of each kind first."""
    out, by_kind = Outcome(), defaultdict(list)
    for prediction in list_predictions():
        by_kind[prediction.kind].append(prediction)
    for kind, found in by_kind.items():
        errors = [abs(prediction.error) for prediction in found]
        out.say(f"{kind}: {len(found)} predictions, mean error {fmean(errors):.1%}, worst {max(errors):.1%}")
    for kind, found in by_kind.items():
        out.say(f"\n{kind:51}{'predicted':>11}{'published':>11}{'error':>9}")
        for p in found:
            out.say(f"  {p.machine:24} {p.what:24}{p.predicted:11.1f}{p.published:11.1f}{p.error:+9.1%}")
    errors = [abs(prediction.error) for prediction in by_kind[LOADED]]
    out.at_most("predictions: latency under load, mean error", fmean(errors), 0.10)
    out.at_most("predictions: latency under load, worst error", max(errors), 0.20)
    writers = [abs(prediction.error) for prediction in by_kind[HITM] if "writer" in prediction.what]
    out.at_most("predictions: a line that the other socket has modified, memory of the writer's, worst error", max(writers), 0.15)
    return out


def fit_loaded(idle_ns: float, node_mb_s: float, points: list[tuple[float, float]]) -> tuple[float, float]:
    """Fits the latency of a controller to `points`, one or two (part of node_mb_s, ns under that load); returns variability and load_ns.

    The latency is idle_ns + load_ns * part + at_half_load * part / (1 - part), and at_half_load is LINE / bandwidth * variability. Of one
    point load_ns alone is fitted, and the variability is 1."""
    low, low_ns = points[0]
    low_queue, at_half_load = low / (1 - low), LINE * 1e3 / node_mb_s  # ns of queueing
    if len(points) == 2:
        high, high_ns = points[1]
        high_queue = high / (1 - high)
        at_half_load = (high_ns - idle_ns - (low_ns - idle_ns) * high / low) / (high_queue - low_queue * high / low)
    return at_half_load * node_mb_s / LINE / 1e3, (low_ns - idle_ns - at_half_load * low_queue) / low


def fit_published(described: machine.Machine, figures: Figures) -> tuple[float, float]:
    """Fits variability and load_ns to the published loads that are nearest to those marked as fitted; returns both."""
    node_mb_s = figures["node_mb_s"]
    points = [min(((mb_s / (figures.get("loaded_nodes", 2) * node_mb_s), ns) for ns, mb_s in figures["loaded"]),
                  key=lambda point: abs(point[0] - at)) for at in figures["fitted"]]
    return fit_loaded(get_number(described, "latency_ns", figures.get("memory", 0)), node_mb_s, points)


def fit_stream_lines(described: machine.Machine, figures: Figures) -> float:
    """Returns the lines of streams in flight with which a full controller has the published latency without delay."""
    (published_ns, _), *_ = figures["loaded"]
    low, high = 1.0, 1000.0  # lines
    while high / low > 1 + PRECISION:
        middle = (low + high) / 2
        model = Model(described.model_text, {("core", "stream_lines"): middle})
        full_ns = model.compute_chase_ns(0, figures.get("memory", 0), len(described.nodes[0].cpus) - 1, AS_MUCH_AS_THEY_CAN)
        low, high = (middle, high) if full_ns < published_ns else (low, middle)
    return high


def fit_write_loss(described: machine.Machine, figures: Figures) -> float:
    """Returns the write_loss with which as many reads as writes have their published bandwidth."""
    reads = figures.get("mixed_nodes", 2) * get_number(described, "bandwidth_mb_s", figures.get("memory", 0))
    return 2 * (reads / figures["mixes"]["1"] - 1)


def print_fits():
    """Prints, for each machine of PUBLISHED, the numbers of its machine file that are fitted to its figures."""
    for name, figures in tomllib.loads(PUBLISHED.read_text(encoding="utf-8")).items():
        described = machine.find(figures.get("machine", name))
        if "mix_fitted" in figures:
            print(f"{name}: dram.write_loss = {fit_write_loss(described, figures):.2f}")
        if "fitted" in figures:
            variability, load_ns = fit_published(described, figures)
            print(f"{name}: dram.variability = {variability:.2f}, dram.load_ns = {load_ns:.1f}"
                  + (f", core.stream_lines = {fit_stream_lines(described, figures):.1f}" if "full_fitted" in figures else ""))


if __name__ == "__main__":
    print_fits()
