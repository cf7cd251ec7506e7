# SPDX-License-Identifier: GPL-2.0-only
"""Queries of a table in memory, by DuckDB: a sum by group, and a join of the table with one of its groups."""

import argparse
import json
import time

import duckdb

ROW = 24      # bytes: three integers
GROUPS = 1009
VALUES = 7  # of the column that is summed: 0 to 6 in turn
QUERIES = ("SELECT sum(total) FROM (SELECT g, sum(v) AS total FROM facts GROUP BY g)",
           "SELECT sum(facts.v) FROM facts JOIN names ON facts.g = names.g")


def main() -> None:
    """Makes the table, times the queries, and prints the rows per second and whether every sum is right, as JSON."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--mib", type=int, required=True)
    options.add_argument("--threads", type=int, required=True)
    options.add_argument("--rounds", type=int, default=5)
    args = options.parse_args()
    rows = (args.mib << 20) // ROW
    base = duckdb.connect(config={"threads": args.threads})
    base.execute(f"CREATE TABLE facts AS SELECT i, (hash(i) % ?)::BIGINT AS g, i % {VALUES} AS v FROM range(?) t(i)", [GROUPS, rows])
    base.execute("CREATE TABLE names AS SELECT i AS g FROM range(?) t(i)", [GROUPS])
    print(f"ready: {rows} rows")
    begin = time.monotonic()
    sums = [base.execute(query).fetchone()[0] for _ in range(args.rounds) for query in QUERIES]
    seconds = time.monotonic() - begin
    whole, rest = divmod(rows, VALUES)
    expected = whole * sum(range(VALUES)) + sum(range(rest))
    right = all(total == expected for total in sums)
    print(json.dumps({"rows_per_second": len(sums) * rows / seconds, "right": right}))


if __name__ == "__main__":
    main()
