# SPDX-License-Identifier: GPL-2.0-only
"""Search for the nearest of many vectors by faiss: an HNSW graph, compared with the exact answer."""

from __future__ import annotations

import argparse
import json
import time

import faiss
import numpy as np

SIZE = 64        # numbers of a vector
LINKS = 16       # of a vertex of the graph
BYTES = 4 * SIZE + 8 * LINKS + 32
NEAREST = 10
ASKED = 200      # a round


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--mib", type=int, required=True)
    options.add_argument("--threads", type=int, required=True)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--rounds", type=int, default=5)
    args = options.parse_args()
    faiss.omp_set_num_threads(args.threads)
    random = np.random.default_rng(args.seed)
    # Around a few hundred centres, as real vectors are not spread evenly.
    centres = random.random((256, SIZE), dtype=np.float32)
    vectors = centres[random.integers(256, size=max(1000, (args.mib << 20) // BYTES))]
    vectors += 0.2 * random.random(vectors.shape, dtype=np.float32)
    asked = vectors[random.integers(len(vectors), size=ASKED)] + 0.02 * random.random((ASKED, SIZE), dtype=np.float32)
    index = faiss.IndexHNSWFlat(SIZE, LINKS)
    index.hnsw.efConstruction = 40
    index.hnsw.efSearch = 64
    index.add(vectors)
    print(f"ready: {len(vectors)} vectors")
    begin = time.monotonic()
    for _ in range(args.rounds):
        _, found = index.search(asked, NEAREST)
    seconds = time.monotonic() - begin
    _, exact = faiss.knn(asked, vectors, NEAREST)
    recall = np.mean([len(set(a) & set(b)) / NEAREST for a, b in zip(found, exact)])
    print(json.dumps({"queries_per_second": args.rounds * ASKED / seconds, "recall": float(recall), "right": bool(recall > 0.8)}))


if __name__ == "__main__":
    main()
