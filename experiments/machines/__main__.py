# SPDX-License-Identifier: GPL-2.0-only
"""Builds a page of machines' records, or with --record the record of a machine from its runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..errors import ExperimentError
from ..lab.errors import LabError
from . import page, record, runs

RECORDS = Path(__file__).parent / "records"


def main(arguments: list[str] | None = None) -> int:
    """Writes the page of machines, or with --record a machine's record; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m experiments.machines", description=__doc__)
    parser.add_argument("paths", metavar="PATH", nargs="*", type=Path,
                        help="records (default: those of the tree); with --record: folders of runs")
    parser.add_argument("--out", type=Path, default=Path("build/machines"), metavar="DIR", help="of the page; default %(default)s")
    parser.add_argument("--record", type=Path, metavar="FILE.json", help="writes the record of the machine that the runs are of")
    parser.add_argument("--machine-file", type=Path, metavar="FILE.toml", help="with --record: what calibrate-machine wrote there")
    args = parser.parse_args(arguments)
    try:
        if args.record:
            record.write_record(args.record, runs.collect_record(args.paths, args.machine_file))
        else:
            print(page.write_page(args.paths or sorted(RECORDS.glob("*.json")), args.out))
    except (ExperimentError, LabError) as error:
        print(f"machines: {error}", file=sys.stderr)
        return error.status
    return 0


if __name__ == "__main__":
    sys.exit(main())
