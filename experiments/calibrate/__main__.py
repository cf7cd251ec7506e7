# SPDX-License-Identifier: GPL-2.0-only
"""Measures this machine's latencies, bandwidths and contention, and writes a machine file for the lab.

Takes the whole machine: nothing else should run. Every figure is measured several times and comes with its 95 %
interval. The contention model is fitted to what was measured; the file says how well that went.
"""

import argparse
import datetime
import os
import re
import sys
from pathlib import Path

from experiments.calibrate import hardware, pattern_search, picture
from experiments.calibrate.measure import PROGRAM, Effort, Failed, Triads, Value, measure_chase_ns
from experiments.calibrate.picture import DEFAULT_LINE, HEADER_BYTES, Cell, Picture
from experiments.host import host_nodes
from experiments.host.host_nodes import Node
from experiments.paths import HERE
from experiments.units import mib, seconds

FAILED, USAGE, UNABLE = 1, 2, 3
TIMES_THE_CACHE = 4
LEAST_CACHE = 8 << 20  # bytes, where the kernel knows no cache
LONGEST_NAME = 63  # of a machine file
LINE_SHARE = 4 / 3  # a triad moves four lines where it counts three
READ_PART = 3 / 4  # of these four lines, three are read
VARIABILITY = 0.1  # where the search begins: little
PORT_ROOM = 1.5  # where the search begins, of a port's bandwidth: times what the local threads take of it


def print_line(text: str):
    print(text, flush=True)


def exit_with(status: int, why: str):
    """Prints why and ends the program with this status."""
    print(f"numaplace calibrate-machine: {why}", file=sys.stderr)
    sys.exit(status)


def parse_arguments() -> argparse.Namespace:
    """Parses the command line; ends the program where it is wrong."""
    parser = argparse.ArgumentParser(prog="numaplace calibrate-machine", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", metavar="FILE.toml", help="the machine file to write")
    parser.add_argument("--name", help="of the machine; default this computer's")
    parser.add_argument("--size", type=mib, metavar="SIZE",
                        help="that is chased, and that a thread uses, such as 64MiB or 2GiB; default four times the largest cache")
    parser.add_argument("--seconds", type=seconds, default=1, metavar="TIME",
                        help="of each measurement, such as 500ms; a bare number is seconds; default 1s")
    parser.add_argument("--repeats", type=int, default=5, help="default %(default)s")
    parser.add_argument("--threads", type=int, default=8, help="of a node, in the contention table; default up to 8")
    args = parser.parse_args()
    if args.repeats < 2 or args.seconds <= 0 or args.threads < 1:
        parser.error("needs --repeats from 2, --seconds, and --threads above 0")
    return args


def describe_machine(args: argparse.Namespace) -> tuple[Picture, Effort]:
    """Reads the machine as the kernel describes it; returns it, and how to measure it. Ends the program where it cannot be measured."""
    nodes, platform = host_nodes.list_nodes(), host_nodes.read_platform()
    first_cpu = next((node.cpus[0] for node in nodes if node.cpus), 0)
    if platform == "lab-functional":
        exit_with(UNABLE, "times mean nothing in a functional lab machine: start it without --functional")
    if not PROGRAM.exists():
        exit_with(UNABLE, f"{PROGRAM} is missing, and it measures: {HERE.remedy('run make tools', 'install numaplace again')}")
    if sum(node.usable for node in nodes) < 2:
        exit_with(UNABLE, "this machine has fewer than two nodes with CPUs and memory, so nothing is remote: "
                  "numaplace lab run boots one with more")
    if empty := next((node for node in nodes if not node.cpus and not node.total_kib), None):
        exit_with(UNABLE, f"node {empty.id} has neither CPUs nor memory, and a machine file describes no such node")
    cpus = [cpu for node in nodes for cpu in node.cpus]
    if len(set(cpus)) < len(cpus):
        exit_with(UNABLE, "nodes have the same CPUs, as with numa=fake, so nothing is remote: numaplace lab run boots one with more")
    name = re.sub(r"[^a-z0-9.-]", "-", (args.name or host_nodes.read_machine_name()).lower())[:LONGEST_NAME]
    caches = hardware.read_caches(first_cpu)
    taken = Picture(name, f"calibrated: {name} ({platform}), {datetime.date.today()}", nodes, caches, hardware.read_megahertz(first_cpu))
    size = args.size << 20 if args.size else TIMES_THE_CACHE * max([LEAST_CACHE, *(cache.bytes for cache in caches)])
    return taken, Effort(size, args.seconds, args.repeats)


def list_pairs(nodes: list[Node]) -> list[tuple[Node, Node]]:
    """Lists the pairs of a node with CPUs and one with memory, which may be the same."""
    return [(near, far) for near in nodes for far in nodes if near.cpus and far.total_kib]


def measure_latencies(taken: Picture, effort: Effort):
    """Measures and prints the latency from each node with CPUs to each with memory, in ns; adds it to `taken`."""
    print_line(f"latency, ns: a chase of {effort.size >> 20} MiB, mean ± 95 %, {effort.repeats} times")
    for near, far in list_pairs(taken.nodes):
        taken.latency[near.id, far.id] = value = measure_chase_ns(near.cpus[0], far.id, effort)
        print_line(f"  node {near.id}, memory {far.id}   {value}")


def measure_bandwidths(taken: Picture, triads: Triads, most_threads: int):
    """Measures and prints the bandwidth of each pair of nodes, in MB/s, with a thread a CPU, `most_threads` at most."""
    print_line(f"bandwidth, MB/s of a triad: as many threads as CPUs, {most_threads} at most")
    for near, far in list_pairs(taken.nodes):
        (value,) = triads.measure_groups([(near, far, min(most_threads, len(near.cpus)))])
        taken.bandwidth[near.id, far.id] = value
        print_line(f"  node {near.id}, memory {far.id}   {value}")


def format_cell(local: int, remote: int, local_mb_s: Value | None, remote_mb_s: Value | None) -> str:
    return f"  {local}L{remote}R   {str(local_mb_s or '-'):>18}  {str(remote_mb_s or '-'):>18}"


def measure_contention(taken: Picture, triads: Triads, most_threads: int):
    """Measures and prints the contention table, in MB/s: memory of the first node with CPUs and memory, threads of it and of the farthest
    one with both, `most_threads` of each at most."""
    node, *others = (n for n in taken.nodes if n.usable)
    other = max(others, key=lambda n: node.distances[n.id])
    print_line(f"contention, MB/s: memory of node {node.id}; threads of node {node.id} (local) and of node {other.id} (remote)")
    for local in range(min(most_threads, len(node.cpus)) + 1):
        for remote in range(min(most_threads, len(other.cpus)) + 1):
            if (local, remote) == (0, 0):
                continue
            groups = [(node, node, local)] * bool(local) + [(other, node, remote)] * bool(remote)
            values = iter(triads.measure_groups(groups))
            local_mb_s = next(values) if local else None
            remote_mb_s = next(values) if remote else None
            taken.contention.append(Cell(node.id, other.id, local, remote, local_mb_s, remote_mb_s))
            print_line(format_cell(local, remote, local_mb_s, remote_mb_s))


def estimate_numbers(taken: Picture, known: pattern_search.Known) -> pattern_search.Numbers:
    """Estimates each number from the largest bandwidths of the contention table, and `outstanding` from 1L0R, to start the search from."""
    one_local = next(cell for cell in taken.contention if (cell.local, cell.remote) == (1, 0))
    local = max(cell.local_mb_s.mean for cell in taken.contention if cell.local_mb_s and not cell.remote)
    total = max((cell.local_mb_s.mean if cell.local_mb_s else 0) + (cell.remote_mb_s.mean if cell.remote_mb_s else 0)
                for cell in taken.contention)
    remote = max(cell.remote_mb_s.mean for cell in taken.contention if cell.remote_mb_s and not cell.local)
    on_link = LINE_SHARE * remote * (READ_PART + known.header / known.line)
    return pattern_search.Numbers(outstanding=one_local.local_mb_s.mean * 1e6 * known.local_ns * 1e-9 / known.line,
                       dram_mb_s=LINE_SHARE * total, dram_variability=VARIABILITY, link_mb_s=on_link, link_variability=VARIABILITY,
                       port_mb_s=LINE_SHARE * local * PORT_ROOM)


def fit_numbers(taken: Picture):
    """Fits the contention model's numbers to the contention table, keeps them and the mean residual in `taken`, and prints the latter."""
    any_cell = taken.contention[0]  # all are of the same two nodes
    known = pattern_search.Known(nodes=2, line=taken.caches[-1].line if taken.caches else DEFAULT_LINE, header=HEADER_BYTES,
                                 local_ns=taken.compute_local_ns(), link_ns=taken.compute_link_ns(any_cell.node, any_cell.other))
    cells = []  # in the model, 0 is the node whose memory it is, and 1 the other
    for cell in taken.contention:
        flows = [(0, 0, cell.local)] * bool(cell.local) + [(1, 0, cell.remote)] * bool(cell.remote)
        cells.append(pattern_search.Cell(flows, [value.mean for value in (cell.local_mb_s, cell.remote_mb_s) if value]))
    taken.numbers, taken.residual = pattern_search.search_numbers(known, estimate_numbers(taken, known), cells)
    print_line(f"the model comes within {taken.residual:.1%} of the largest total, on average over {len(cells)} cells")


def read_penalties(file: Path) -> str:
    """Returns the tables of a machine file that numaplace measure-penalty has written, so that they are kept; "" without any or a file.

    Raises OSError where the file cannot be read, and UnicodeDecodeError where it is no text."""
    tables = re.split(r"(?m)^(?=\[)", file.read_text(encoding="utf-8")) if file.is_file() else []
    found = "".join(table for table in tables if re.match(r"\[\[?penalty\b", table))
    return f"\n{found}" if found else ""


def write_whole(file: Path, text: str | None):
    """Writes a file whole or not at all; without text it only tries. OSError: it cannot be written."""
    if file.exists() and not file.is_file():  # as /dev/stdout, which is not to be replaced
        file.write_text(text or "", encoding="utf-8")
        return
    partial = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        partial.write_text(text or "", encoding="utf-8")
        if text is not None:
            partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)


def main():
    """Measures the machine and writes its file; ends the program with a status where that fails."""
    args = parse_arguments()
    taken, effort = describe_machine(args)
    file = Path(args.file).resolve()
    try:
        penalties = read_penalties(file)
        write_whole(file, None)  # before what takes long
    except (OSError, UnicodeDecodeError) as error:
        exit_with(FAILED, f"cannot write {args.file}: {getattr(error, 'strerror', 'it is no text')}: give another file")
    triads = Triads(effort)
    try:
        measure_latencies(taken, effort)
        measure_bandwidths(taken, triads, args.threads)
        measure_contention(taken, triads, args.threads)
    except (Failed, AssertionError, BrokenPipeError) as error:
        exit_with(FAILED, str(error))
    finally:
        triads.stop_team()
    fit_numbers(taken)
    try:
        write_whole(file, picture.build_toml(taken) + penalties)
    except OSError as error:
        exit_with(FAILED, f"cannot write {args.file}: {error.strerror}")
    print_line(f"{args.file}: written; numaplace lab run --machine {args.file} -- CMD runs on it")


if __name__ == "__main__":
    main()
