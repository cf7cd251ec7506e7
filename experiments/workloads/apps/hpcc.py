# SPDX-License-Identifier: GPL-2.0-only
"""Runs HPC Challenge in this folder with matrices of that size, and prints what it wrote. RandomAccess' table is half of it."""

from __future__ import annotations

import argparse
import math
import subprocess
from pathlib import Path

INPUT = """HPLinpack benchmark input file
numaplace
HPL.out
8
1
{n}
1
80
0
1
1
1
16.0
1
2
1
4
1
2
1
1
1
1
1
0
2
64
0
0
1
8
#
0
1200
0
40
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--mib", type=int, required=True)
    args = options.parse_args()
    Path("hpccinf.txt").write_text(INPUT.format(n=math.isqrt((args.mib << 20) // 8)), encoding="ascii")
    subprocess.run(["hpcc"], check=True)
    print(Path("hpccoutf.txt").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
