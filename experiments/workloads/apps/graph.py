# SPDX-License-Identifier: GPL-2.0-only
"""BFS or PageRank by NetworKit on a Kronecker graph as Graph500 has it: R-MAT, 16 edges a vertex, both directions."""

from __future__ import annotations

import argparse
import json
import time

import networkit as nk
import numpy as np

EDGES = 16       # a vertex
BYTES = 64       # an edge, about: in both directions, in vectors that grow by half
CHANCES = (0.57, 0.19, 0.19, 0.05)  # Graph500's


def made(mib: int, seed: int) -> tuple[nk.Graph, np.ndarray]:
    """The graph and both ends of its edges: each bit of an edge's ends is drawn by the chances of the four quarters."""
    scale, draw = max(8, int(np.log2((mib << 20) / (EDGES * BYTES)))), np.random.default_rng(seed)
    ends = np.zeros((2, EDGES << scale), dtype=np.int64)
    for _ in range(scale):
        quarter = np.searchsorted(np.cumsum(CHANCES[:3]), draw.random(ends.shape[1], dtype=np.float32))
        ends = 2 * ends + (quarter >> 1, quarter & 1)
    ends = ends[:, ends[0] != ends[1]]
    graph = nk.GraphFromCoo((np.ones(ends.shape[1]), (ends[0].astype(np.uint64), ends[1].astype(np.uint64))), n=1 << scale)
    return graph, np.concatenate((ends, ends[::-1]), axis=1)


def bfs(graph: nk.Graph, ends: np.ndarray, sources: np.ndarray) -> tuple[float, bool]:
    """Edges that were followed, and whether the distances of both ends of every edge differ by 1 at most."""
    edges, seconds, right = 0, 0.0, True
    for source in sources:
        begin = time.monotonic()
        far = np.array(nk.distance.BFS(graph, source, False).run().getDistances())
        seconds += time.monotonic() - begin
        from_, to = far[ends[0]], far[ends[1]]
        reached = from_ < graph.numberOfNodes()
        edges += int(reached.sum()) // 2
        right = right and bool(np.all(reached == (to < graph.numberOfNodes()))) and bool(np.all(np.abs(from_ - to)[reached] <= 1))
        right = right and far[source] == 0
    return edges / seconds, right


def pagerank(graph: nk.Graph, ends: np.ndarray, rounds: int) -> tuple[float, bool]:
    """Edges of all iterations, and whether the ranks are a distribution that one more iteration leaves as it is."""
    edges, seconds = 0, 0.0
    for _ in range(rounds):
        begin = time.monotonic()
        found = nk.centrality.PageRank(graph, damp=0.85, tol=1e-9).run()
        seconds += time.monotonic() - begin
        edges += 2 * graph.numberOfEdges() * found.numberOfIterations()
    ranks, degrees = np.array(found.scores()), np.bincount(ends[0], minlength=graph.numberOfNodes())
    share = np.divide(ranks, degrees, out=np.zeros_like(ranks), where=degrees > 0)
    again = 0.15 / len(ranks) + 0.85 * np.bincount(ends[1], share[ends[0]], len(ranks))
    ratio = (again / ranks)[degrees > 0]
    return edges / seconds, bool(np.ptp(ratio) < 0.02)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("what", choices=["bfs", "pagerank"])
    options.add_argument("--mib", type=int, required=True)
    options.add_argument("--threads", type=int, required=True)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--rounds", type=int, default=3)
    args = options.parse_args()
    nk.setNumberOfThreads(args.threads)
    graph, ends = made(args.mib, args.seed)
    print(f"ready: {graph.numberOfNodes()} vertices, {graph.numberOfEdges()} edges")
    if args.what == "bfs":
        rate, right = bfs(graph, ends, np.random.default_rng(args.seed).choice(ends[0], args.rounds))
    else:
        rate, right = pagerank(graph, ends, args.rounds)
    print(json.dumps({"edges_per_second": rate, "right": bool(right)}))


if __name__ == "__main__":
    main()
