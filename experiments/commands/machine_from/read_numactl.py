# SPDX-License-Identifier: GPL-2.0-only
"""What `numactl -H` prints."""

from __future__ import annotations

import re

from ...errors import UsageError
from .describe import MOST_CPUS, Description, Node, parse_number, parse_whole

BEGIN = re.compile(r"^node \d+ cpus:|^available: \d+ nodes?", re.MULTILINE)


def parse_cpus(words: str, what: str) -> list[int]:
    """Parses the CPUs of a node. UsageError: there is one that no kernel has."""
    cpus = [parse_whole(word, what) for word in words.split()]
    if max(cpus, default=0) >= MOST_CPUS:
        raise UsageError(f"{what}: CPU {max(cpus)} is beyond {MOST_CPUS - 1}: correct it, or leave the file out")
    return sorted(set(cpus))


def read_nodes(text: str, file: str) -> dict[int, Node]:
    """Reads the nodes with their CPUs and memory."""
    nodes: dict[int, Node] = {}
    for number, words in re.findall(r"^node (\d{1,4}) cpus:([^\n]*)", text, re.MULTILINE | re.ASCII):
        nodes[int(number)] = Node(int(number), parse_cpus(words, f"{file}, node {number} cpus"))
    for number, mib in re.findall(r"^node (\d{1,4}) size: *(\d{1,12}) MB", text, re.MULTILINE | re.ASCII):
        nodes.setdefault(int(number), Node(int(number), [])).bytes = int(mib) << 20
    return dict(sorted(nodes.items()))


def read_distances(text: str, file: str) -> dict[tuple[int, int], float]:
    """Reads the matrix of distances; {} where there is none. UsageError: a row is not whole."""
    head = re.search(r"^node +(\d{1,4}(?: +\d{1,4})*) *$", text, re.MULTILINE | re.ASCII)
    columns = [int(word) for word in head[1].split()] if head else []
    distances = {}
    for near, words in re.findall(r"^ *(\d{1,4}):([ \d]+)$", text, re.MULTILINE | re.ASCII):
        if len(words.split()) != len(columns):
            raise UsageError(f"{file}, row {near} of the distances has {len(words.split())} numbers for {len(columns)} nodes: "
                             "give the whole output of numactl -H")
        distances |= {(int(near), far): parse_number(word, f"{file}, row {near} of the distances")
                  for far, word in zip(columns, words.split())}
    return distances


def describe_numactl(text: str, file: str) -> Description:
    """Describes the machine of an output of numactl -H. UsageError: it has no nodes."""
    nodes = read_nodes(text, file)
    if not nodes:
        raise UsageError(f"{file} has no line such as 'node 0 cpus: 0 1': give the whole output of numactl -H")
    return Description(file, nodes, f"{file}, numactl -H", distances=read_distances(text, file),
                       distances_source=f"{file}, node distances")
