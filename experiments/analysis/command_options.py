# SPDX-License-Identifier: GPL-2.0-only
"""The options of experiment compare, pack and unpack; loads nothing large, because the runner's command line has them too."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..units import percent
from .stats.gate import threshold

PACK_HELP = "a run in one file, for another machine: records, logs, the SHA-256 of each"
UNPACK_HELP = "verifies what pack wrote, then writes its files into a new folder"
COMPARE_HELP = "runs beside the first: differences and their significance"


def add_compare_options(one: argparse.ArgumentParser) -> None:
    one.add_argument("first", metavar="A")
    one.add_argument("others", metavar="B", nargs="+")
    one.add_argument("--paired", action="store_true",
                     help="tests the differences in blocks: for runs whose repeats were made in turns")
    one.add_argument("--smallest", type=percent, default=0.0, metavar="PERCENT",
                     help="the smallest change that matters: none is marked whose interval lies within it")
    one.add_argument("--fail-if", type=threshold, action="append", default=[], metavar="'METRIC < PERCENT'",
                     help="exit status 4 where the whole interval of a metric's B / A is beyond that; "
                          "as in 'bandwidth < -3 %%'")
    one.add_argument("--json", action="store_true")
    one.add_argument("--html", type=Path, metavar="FILE", help="a page with a figure too")


def add_pack_options(one: argparse.ArgumentParser) -> None:
    one.add_argument("directory", type=Path, metavar="RUN", help="folder of a run, or a folder of runs")
    one.add_argument("bundle", type=Path, metavar="FILE.tar.gz")
    one.add_argument("--sign", type=Path, metavar="KEY",
                     help="signs it by ssh-keygen: a private key, or a public one that ssh-agent has the private key of")


def add_unpack_options(one: argparse.ArgumentParser) -> None:
    one.add_argument("bundle", type=Path, metavar="FILE", help="that 'pack' wrote")
    one.add_argument("folder", type=Path, nargs="?", metavar="FOLDER", help="default: FILE without .tar.gz, here")
    one.add_argument("--allowed", type=Path, metavar="SIGNERS",
                     help="refuses what is not signed by a key of this file, which is as ssh-keygen's ALLOWED SIGNERS")
