# SPDX-License-Identifier: GPL-2.0-only
"""The numbers of the contention model: what files say of latencies and bandwidths, and what is assumed where they say nothing."""

from __future__ import annotations

from dataclasses import dataclass

from .describe import Description, Pair, Sourced
from .read_matrix import compute_mean, fold_cores
from .reduce import Kept, Reduced

LOCAL, LEAST_REMOTE, MOST_REMOTE = 10, 11, 254  # distances
ASSUMED_REMOTE = 21
ASSUMED_LATENCY_NS, ASSUMED_BANDWIDTH_MB_S, LINK_SHARE = 90, 12800, 0.5
HEADER_BYTES = 8


@dataclass(frozen=True)
class Speed:
    """Holds the speed of a memory controller or of a link, with the sources that a machine file has."""
    latency_ns: Sourced
    bandwidth_mb_s: Sourced


def mark_calibrated(found: Sourced) -> Sourced:
    """Returns the number with a source that says that it was measured."""
    return Sourced(found.value, f"calibrated: {found.source}")


def compute_distance(described: Description, near: int, far: int) -> float | None:
    """Computes the distance of two nodes, LOCAL for a node itself, from the SLIT or from latencies; None where neither has them."""
    if (near, far) in described.distances:
        own = described.distances.get((near, near), LOCAL) or LOCAL
        return LOCAL * described.distances[near, far] / own
    local = described.latencies.get((near, near))
    latency = described.latencies.get((near, far))
    return LOCAL * latency.value / local.value if local and latency else None


def fill_distance(described: Description, near: int, far: int) -> tuple[int, bool]:
    """Returns the distance of two nodes, or that of the other way, as a machine file may have it, and whether a file says either."""
    if near == far:
        return LOCAL, True
    distance = compute_distance(described, near, far)
    if distance is None:
        distance = compute_distance(described, far, near)
    if distance is None:
        return ASSUMED_REMOTE, False
    return min(MOST_REMOTE, max(LEAST_REMOTE, round(distance))), True


def build_distances(described: Description, nodes: list[Kept]) -> tuple[list[list[int]], str]:
    """Builds the matrix of distances, and says where it is from."""
    cells = [[fill_distance(described, near.id, far.id) for far in nodes] for near in nodes]
    if described.distances:
        source = described.distances_source
    else:
        files = sorted({found.source.split(",")[0] for found in described.latencies.values()})
        source = f"10 * latency / local latency, {', '.join(files)}" if files else ""
    if not all(known for row in cells for _, known in row):
        source = f"{source}; " * bool(source) + f"assumed: {ASSUMED_REMOTE} where it is not known"
    return [[value for value, _ in row] for row in cells], source


def estimate_base(described: Description, reduced: Reduced) -> Speed:
    """Estimates the controller of a node of which nothing of its own is known: as the nodes' mean."""
    ids = [node.id for node in reduced.nodes]
    return Speed(average_locals(described.latencies, ids, Sourced(ASSUMED_LATENCY_NS, "assumed: a server")),
                average_locals(described.bandwidths, ids, Sourced(ASSUMED_BANDWIDTH_MB_S, "assumed: two channels of DDR3-800, as demo-2s")))


def average_locals(numbers: dict[Pair, Sourced], ids: list[int], otherwise: Sourced) -> Sourced:
    """Returns the mean of what nodes have with their own memory; `otherwise` where no file says it of any. ids: of the nodes."""
    local_numbers = [numbers[number, number] for number in ids if (number, number) in numbers]
    if not local_numbers:
        return otherwise
    source = local_numbers[0].source if len(local_numbers) == 1 else f"{local_numbers[0].source}, mean of {len(local_numbers)} nodes"
    return Sourced(compute_mean([one.value for one in local_numbers]), f"calibrated: {source}")


def estimate_dram(described: Description, node: Kept, base: Speed) -> Speed:
    """Estimates a node's controller, `base` where nothing is known; of one without CPUs what the nearest node sees, less the link's."""
    own_latency = described.latencies.get((node.id, node.id))
    latency = mark_calibrated(own_latency) if own_latency else base.latency_ns
    seen_latencies = [found for (_, far), found in described.latencies.items() if far == node.id]
    nearest = min(seen_latencies, key=lambda found: found.value, default=None)
    if not node.cpus and nearest and nearest.value < latency.value:
        latency = mark_calibrated(nearest)
    own_bandwidth = described.bandwidths.get((node.id, node.id))
    rates = [found for (_, far), found in described.bandwidths.items() if far == node.id]
    bandwidth = own_bandwidth or (max(rates, key=lambda found: found.value) if rates and not node.cpus else None)
    return Speed(latency, mark_calibrated(bandwidth) if bandwidth else base.bandwidth_mb_s)


def estimate_link_latency(described: Description, a: Kept, b: Kept, drams: dict[int, Speed]) -> Sourced:
    """Estimates the ns that the way between two nodes adds to a read: as measured, or by their distance. drams: controllers by node."""
    ways = [(found, far) for near, far in ((a.id, b.id), (b.id, a.id)) if (found := described.latencies.get((near, far)))]
    if ways:
        added = compute_mean([max(0.0, found.value - drams[far].latency_ns.value) for found, far in ways])
        return Sourced(round(max(1.0, added), 1), f"calibrated: {ways[0][0].source}, less the memory's own")
    with_memory = b if b.mib else a
    memory_ns = drams[with_memory.id].latency_ns.value
    distance, known = fill_distance(described, a.id, b.id)
    why = f"distance {distance}" if known else f"no distance is known, {distance} is taken"
    return Sourced(round(memory_ns * (distance - LOCAL) / LOCAL, 1), f"assumed: {memory_ns:.6g} ns * {distance} / 10, less the memory's own; {why}")


def estimate_link_bandwidth(described: Description, a: Kept, b: Kept, drams: dict[int, Speed], line: int) -> Sourced:
    """Estimates the MB/s of each way between two nodes, the packets' heads in it. drams: controllers by node; line: bytes."""
    ways = [described.bandwidths[pair] for pair in ((a.id, b.id), (b.id, a.id)) if pair in described.bandwidths]
    if ways:
        mean = compute_mean([found.value for found in ways])
        return Sourced(round(mean * (line + HEADER_BYTES) / line), f"calibrated: {ways[0].source}, with heads of {HEADER_BYTES} bytes")
    with_memory = b if b.mib else a
    return Sourced(round(drams[with_memory.id].bandwidth_mb_s.value * LINK_SHARE), "assumed: half of a controller each way")


def estimate_links(described: Description, nodes: list[Kept], drams: dict[int, Speed], line: int) -> dict[Speed, list[Pair]]:
    """Estimates a link for each pair of nodes of which one has CPUs. Returns the pairs, by position in the file, by their link's speed."""
    pairs_of_link: dict[Speed, list[Pair]] = {}
    for j, b in enumerate(nodes):
        for i, a in enumerate(nodes[:j]):
            if a.cpus or b.cpus:
                link = Speed(estimate_link_latency(described, a, b, drams), estimate_link_bandwidth(described, a, b, drams, line))
                pairs_of_link.setdefault(link, []).append((i, j))
    return pairs_of_link


def estimate_c2c(described: Description, reduced: Reduced, sharing: int) -> dict[str, Sourced]:
    """Estimates the costs of a line that another core has modified: of a matrix between CPUs, and what mlc says beside it. sharing: how
    many CPUs of a node, in their order, have one last level. UsageError: as of fold_cores()."""
    places = {cpu: (node.id, index // sharing) for node in reduced.nodes for index, cpu in enumerate(node.cpus)}
    folded = fold_cores(described, described.cpus, places) if described.core_matrix else {}
    costs = described.c2c | folded
    home, remote = costs.get("remote_home_ns"), costs.get("remote_ns")
    if home and (not remote or home.value < remote.value):
        del costs["remote_home_ns"]  # the lab takes none below remote_ns
    return costs
