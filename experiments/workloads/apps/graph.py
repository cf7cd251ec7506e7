# SPDX-License-Identifier: GPL-2.0-only
"""BFS or PageRank on a Kronecker graph as Graph500 has it (R-MAT, 16 edges a vertex), by NetworKit."""

from __future__ import annotations

import argparse
import json
import time

import networkit as nk
import numpy as np

EDGES = 16       # a vertex
BYTES = 64       # an edge, about: in both directions, in vectors that grow by half
CHANCES = (0.57, 0.19, 0.19, 0.05)  # Graph500's


def made(mib: int, seed: int) -> nk.Graph:
    scale = max(8, int(np.log2((mib << 20) / (EDGES * BYTES))))
    nk.setSeed(seed, False)
    return nk.graphtools.toUndirected(nk.generators.RmatGenerator(scale, EDGES, *CHANCES).generate())


def bfs(graph: nk.Graph, sources: list[int]) -> tuple[float, bool]:
    """Edges that were followed, and whether the distances of both ends of every edge differ by 1 at most."""
    ends = np.array([(u, v) for u, v in graph.iterEdges()], dtype=np.int64)
    edges, seconds, right = 0, 0.0, True
    for source in sources:
        begin = time.monotonic()
        far = np.array(nk.distance.BFS(graph, source, False).run().getDistances())
        seconds += time.monotonic() - begin
        from_, to = far[ends[:, 0]], far[ends[:, 1]]
        reached = from_ < graph.numberOfNodes()
        edges += int(reached.sum())
        right = right and bool(np.all(reached == (to < graph.numberOfNodes()))) and bool(np.all(np.abs(from_ - to)[reached] <= 1))
        right = right and far[source] == 0
    return edges / seconds, right


def pagerank(graph: nk.Graph, rounds: int) -> tuple[float, bool]:
    """Edges of all iterations, and whether the ranks are a distribution that one more iteration leaves as it is."""
    edges, seconds = 0, 0.0
    for _ in range(rounds):
        begin = time.monotonic()
        found = nk.centrality.PageRank(graph, damp=0.85, tol=1e-9).run()
        seconds += time.monotonic() - begin
        edges += 2 * graph.numberOfEdges() * found.numberOfIterations()
    ranks = np.array(found.scores())
    ends = np.array([(u, v) for u, v in graph.iterEdges() if u != v], dtype=np.int64)
    degrees = np.array([graph.degree(u) for u in graph.iterNodes()])
    share = np.divide(ranks, degrees, out=np.zeros_like(ranks), where=degrees > 0)
    came = np.bincount(ends[:, 0], share[ends[:, 1]], len(ranks)) + np.bincount(ends[:, 1], share[ends[:, 0]], len(ranks))
    loops = np.array([graph.hasEdge(u, u) for u in graph.iterNodes()])
    again = 0.15 / len(ranks) + 0.85 * (came + np.where(loops, share, 0))
    connected = degrees > 0
    ratio = again[connected] / ranks[connected]
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
    graph = made(args.mib, args.seed)
    print(f"ready: {graph.numberOfNodes()} vertices, {graph.numberOfEdges()} edges")
    if args.what == "bfs":
        vertices = [u for u in graph.iterNodes() if graph.degree(u)]
        rate, right = bfs(graph, list(np.random.default_rng(args.seed).choice(vertices, args.rounds)))
    else:
        rate, right = pagerank(graph, args.rounds)
    print(json.dumps({"edges_per_second": rate, "right": bool(right)}))


if __name__ == "__main__":
    main()
