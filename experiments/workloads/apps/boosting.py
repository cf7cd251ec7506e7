# SPDX-License-Identifier: GPL-2.0-only
"""Gradient boosting of trees by LightGBM, on a made-up problem whose classes can be told apart."""

from __future__ import annotations

import argparse
import json
import time

import lightgbm
import numpy as np

COLUMNS = 32
BYTES = COLUMNS * 5  # a row: floats, and the bins that LightGBM makes of them


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--mib", type=int, required=True)
    options.add_argument("--threads", type=int, required=True)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--trees", type=int, default=20)
    args = options.parse_args()
    rows = max(1000, (args.mib << 20) // BYTES)
    random = np.random.default_rng(args.seed)
    values = random.random((rows, COLUMNS), dtype=np.float32)
    classes = (values[:, 0] + values[:, 1] > 1).astype(np.int8)
    settings = {"objective": "binary", "num_threads": args.threads, "seed": args.seed, "verbosity": -1}
    data = lightgbm.Dataset(values, classes, params=settings).construct()
    print(f"ready: {rows} rows")
    begin = time.monotonic()
    model = lightgbm.train(settings, data, num_boost_round=args.trees)
    seconds = time.monotonic() - begin
    sample = slice(0, min(rows, 20000))
    right = np.mean((model.predict(values[sample]) > 0.5) == classes[sample])
    print(json.dumps({"rows_per_second": rows * args.trees / seconds, "share_right": float(right), "right": bool(right > 0.9)}))


if __name__ == "__main__":
    main()
