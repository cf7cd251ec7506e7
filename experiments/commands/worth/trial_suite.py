# SPDX-License-Identifier: GPL-2.0-only
"""The suite of one program under every placement that this machine has."""

import json
from collections.abc import Sequence
from pathlib import Path

from ...host.host_nodes import Node
from ...mechanisms import registry

# Besides a bind to each node. A policy acts on a program that runs: `after` says when.
ALWAYS = ("start-interleave", "start-weighted", "numa-balancing", "maximum-local:pages=follow", "daemon")

BIND = Path(__file__).with_name("bind.py")

TEXT = """\
name = "worth"
question = "What would placement buy this program?"
paper = "none"
machines = [{machine}]
takes = "as long as it is given"
repeats = {repeats}
warmups = 0
seed = 1
nodes = 1
looks = true
responses = [{response}]

[factors]
placement = [{placements}]

[[workload]]
{workload}
"""


def list_placements(nodes: Sequence[Node]) -> list[str]:
    """Lists the placements: the program as it is first, then what has everything that it needs here."""
    binds = [f"start-bind:node={node.id}" for node in nodes if node.usable]
    return ["none", *(level for level in (*binds, *ALWAYS) if is_possible(level, nodes))]


def list_undoable(nodes: Sequence[Node]) -> list[str]:
    """Lists the placements of processes that run: what can be undone with its pages. The kernel's own moves cannot, so that balancing
    is not among them."""
    return ["none", *(f"exec:{BIND}:node={node.id}" for node in nodes if node.usable), "interleave", "maximum-local:pages=follow"]


def is_possible(level: str, nodes: Sequence[Node]) -> bool:
    """Checks whether a level has everything that it needs on these nodes; a policy always has."""
    mechanism = registry.make_mechanism(level)
    return mechanism is None or mechanism.call("lacks", nodes) is None


def format_workload(command: Sequence[str], metric: dict[str, str], after: float, folder: Path) -> str:
    """Formats the file of a program, started in `folder`. metric: its table, {} for seconds; after: s of its run before it is placed."""
    words = ", ".join(json.dumps(word.replace("{", "{{").replace("}", "}}")) for word in command)
    lines = ['name = "program"', 'kind = "command"', f"about = {json.dumps(' '.join(command)[:200])}", f"command = [{words}]",
             f"directory = {json.dumps(str(folder))}", f"warm_up = {after:g}"]
    if metric:
        lines += ["[metric]", *(f"{key} = {json.dumps(value)}" for key, value in metric.items())]
    return "\n".join(lines) + "\n"


def format_processes(pids: Sequence[int], seconds: float, settle: float, url: str, pattern: str) -> str:
    """Formats the table of processes that run. seconds: for which they are watched; settle: s before that; pattern: of a count at `url`."""
    return "\n".join([f"pids = {list(pids)}", 'name = "processes"', 'kind = "running"', 'about = "processes of the user\'s"',
                      f"seconds = {seconds:g}", f"settle = {settle:g}", f"url = {json.dumps(url)}",
                      f"pattern = {json.dumps(pattern)}"]) + "\n"


def format_suite(machine: str, levels: Sequence[str], repeats: int, response: str, workload: str) -> str:
    """Formats the suite's file. response: the metric that is compared; workload: the table's lines."""
    return TEXT.format(machine=json.dumps(machine), repeats=repeats, response=json.dumps(response),
                       placements=", ".join(map(json.dumps, levels)), workload=workload)
