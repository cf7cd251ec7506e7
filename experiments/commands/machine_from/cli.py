# SPDX-License-Identifier: GPL-2.0-only
"""numaplace machine --from: makes a machine file of descriptions that somebody has of a machine."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ...errors import ExperimentError, UsageError, get_exit_status
from ...units import mib
from . import read_hwloc, read_matrix, read_mlc, read_numactl, read_sysfs
from .describe import Description, merge_descriptions, parse_cpu_list
from .reduce import LEAST_MIB, Choice, reduce_machine
from .write import build_toml, clean_text, make_name

STDIN = "-"
FORMATS = "lstopo's XML, a /sys, the output of numactl -H or of mlc, a CSV between CPUs"


def parse_count(text: str) -> int:
    """Parses a number from 1, as a type of argparse; more than nine digits, beyond any machine, are cut off."""
    if not text.isdecimal() or not 1 <= int(text[:9]):
        raise argparse.ArgumentTypeError(f'"{text}" is not a number from 1')
    return int(text[:9])


def parse_nodes(text: str) -> list[int]:
    """Parses a list of nodes, as a type of argparse."""
    try:
        if nodes := parse_cpu_list(text, ""):
            return nodes
        raise UsageError("no node")
    except UsageError:
        raise argparse.ArgumentTypeError(f'"{text}" is not a list of nodes such as 0-3,8') from None


class Parser(argparse.ArgumentParser):
    """Says what is wrong with a command line in one line."""

    def error(self, message: str) -> None:
        raise UsageError(message)


def make_parser() -> argparse.ArgumentParser:
    """Makes the parser of `numaplace machine --from`."""
    top = Parser(prog="numaplace machine", usage="numaplace machine --from FILE [--from FILE].. [OPTION..]",
                 description=f"Prints a machine file of a machine that FILE describes: {FORMATS}. Several complete each other.")
    top.add_argument("--from", action="append", required=True, dest="files", metavar="FILE", help="or a folder, or - for standard input")
    top.add_argument("--memory", type=mib, default=2048, metavar="SIZE",
                     help=f"of all nodes together, in proportion; {LEAST_MIB} MiB of each node at least; default 2GiB")
    top.add_argument("--cpus-per-node", type=parse_count, metavar="N", help="keeps only the first N CPUs of each node")
    top.add_argument("--nodes", type=parse_nodes, metavar="LIST", help="keeps only these nodes, such as 0-3")
    top.add_argument("--smt", action="store_true", help="keeps all CPUs of a core; default the first of each")
    top.add_argument("--name", help="of the machine; default the first FILE's")
    return top


def read_text(file: str) -> str:
    """Reads a file, or standard input. ExperimentError: it cannot be read; UsageError: it is no text."""
    try:
        data = sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()
    except OSError as error:
        raise ExperimentError(f"cannot read {file}: {error.strerror}") from None
    if b"\0" in data:
        raise UsageError(f"{file} is not text: unpack an archive first; read are {FORMATS}")
    return data.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")


def describe_text(text: str, file: str, name: str) -> Description:
    """Describes the machine of a text, in the format that its content shows. UsageError: it is none of them."""
    if text.lstrip().startswith("<"):
        return read_hwloc.describe_hwloc(text.lstrip(), name)
    for begins, describe in ((read_mlc.BEGIN.search, read_mlc.describe_mlc), (read_numactl.BEGIN.search, read_numactl.describe_numactl),
                             (read_matrix.is_matrix, read_matrix.describe_matrix)):
        if begins(text):
            return describe(text, name)
    raise UsageError(f"{file} is in no format that is read: give {FORMATS}")


def describe_file(file: str) -> Description:
    """Describes the machine of a file or a folder."""
    path = Path(file)
    name = clean_text("standard input" if file == STDIN else path.name or path.resolve().name or "sys")
    if file != STDIN and path.is_dir():
        return read_sysfs.describe_sysfs(path, name)
    return describe_text(read_text(file), file, name)


def convert(argv: list[str]) -> tuple[str, list[str]]:
    """Returns the machine file that a command line asks for, and the warnings about it."""
    args = make_parser().parse_args(argv)
    descriptions = [describe_file(file) for file in args.files]
    described = merge_descriptions(descriptions)
    reduced = reduce_machine(described, Choice(args.nodes, args.cpus_per_node, args.smt, args.memory))
    name = make_name(args.name or descriptions[0].name)
    return build_toml(name, described, reduced, list(dict.fromkeys(one.name for one in descriptions))), reduced.warnings


def carry_out(argv: list[str]) -> int:
    """Prints the machine file. Returns the exit status."""
    text, warnings = convert(argv)
    for warning in warnings:
        print(f"numaplace machine --from: {warning}", file=sys.stderr)
    print(text, end="")
    return 0


def main() -> int:
    return get_exit_status("numaplace machine --from", lambda: carry_out(sys.argv[1:]))
