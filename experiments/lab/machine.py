# SPDX-License-Identifier: GPL-2.0-only
"""Machine files: what a machine has, read and checked before anything boots."""

import re
import tomllib
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from experiments.lab.cache_fields import check_caches
from experiments.lab.errors import USAGE, LabError
from experiments.lab.model_fields import check_model
from experiments.lab.penalty_fields import check_penalty
from experiments.lab.toml_lines import line_of

MACHINES = Path(__file__).parent / "machines"
LOCAL_DISTANCE = 10
MAX_DISTANCE = 254  # 255 says "cannot be reached"
MAX_CPUS = 255      # QEMU's q35 without an interrupt remapping device
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

# field -> type; a question mark: may be left out. Every measured value comes with its source.
MACHINE_FIELDS = {"name": str, "summary": str, "source": str, "cpus": int, "memory": str,
                  "distances": list, "node": list, "cache?": list, "model?": dict,
                  "penalty?": dict, "measured?": dict}  # the last: what calibrate-machine found, for people
TABLE_FIELDS = {
    "node": {"cpus": str, "memory": str},
    "cache": {"level": int, "size": str, "ways": int, "line_bytes": int, "shared_by_cpus": int,
              "latency_ns?": float, "source": str},
}


@dataclass
class Node:
    cpus: list[int]
    memory: int  # bytes


@dataclass
class Machine:
    name: str
    summary: str
    source: str
    nodes: list[Node]
    distances: list[list[int]]
    cache: list[dict[str, Any]] = field(default_factory=list)
    model: dict[str, Any] = field(default_factory=dict)

    @property
    def cpus(self) -> int:
        return sum(len(node.cpus) for node in self.nodes)

    @property
    def memory(self) -> int:
        return sum(node.memory for node in self.nodes)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"cpus": self.cpus, "memory": self.memory}


class Checker:
    """Reports a fault with the file, the line and the field it was found in."""

    def __init__(self, path: Path, text: str):
        self.path = path
        self.text = text

    def fail(self, where: tuple, why: str):
        line = line_of(self.text, where)
        dotted = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in where)
        raise LabError(USAGE, f"{self.path}:{line}: {dotted.lstrip('.')}: {why}")

    def fields(self, where: tuple, table: dict, allowed: dict[str, type]):
        required = {name: kind for name, kind in allowed.items() if not name.endswith("?")}
        kinds = {name.rstrip("?"): kind for name, kind in allowed.items()}
        for name, value in table.items():
            if name not in kinds:
                self.fail(where + (name,), f"unknown field; known are {', '.join(kinds)}")
            if not is_kind(value, kinds[name]):
                self.fail(where + (name,), f"{value!r} is not {KIND_NAMES[kinds[name]]}")
        for name in required:
            if name not in table:
                self.fail(where, f"the field '{name}' is missing")

    def size(self, where: tuple, value: str) -> int:
        match = re.fullmatch(r"(\d+) ?(KiB|MiB|GiB)", value)
        if value != "0" and not match:
            self.fail(where, f"'{value}' is not a size such as '512 MiB' or '1 GiB', or '0'")
        return int(match[1]) * UNITS[match[2]] if match else 0

    def cpu_list(self, where: tuple, value: str) -> list[int]:
        cpus = []
        for part in value.split(",") if value else []:
            match = re.fullmatch(r"(\d{1,4})(?:-(\d{1,4}))?", part)
            if not match or int(match[2] or match[1]) < int(match[1]):
                self.fail(where, f"'{value}' is not a list of CPUs such as '0-1,4'")
            cpus += range(int(match[1]), int(match[2] or match[1]) + 1)
        return cpus


def cpu_ranges(cpus: list[int]) -> str:
    """As a machine file has them: '0-1,4'; of CPUs in rising order."""
    runs: list[list[int]] = []
    for cpu in cpus:
        if runs and cpu == runs[-1][-1] + 1:
            runs[-1].append(cpu)
        else:
            runs.append([cpu])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs) or "none"


KIND_NAMES = {str: "a text", int: "a whole number", float: "a number", list: "a list",
              dict: "a table"}


def is_kind(value: Any, kind: type) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, (int, float) if kind is float else kind)


def check_tables(check: Checker, data: dict[str, Any]):
    check.fields((), data, MACHINE_FIELDS)
    for section, allowed in TABLE_FIELDS.items():
        for index, table in enumerate(data.get(section, [])):
            if not isinstance(table, dict):
                check.fail((section,), f"write each as a table of its own, [[{section}]]")
            check.fields((section, index), table, allowed)


def read_nodes(check: Checker, data: dict[str, Any]) -> list[Node]:
    nodes = []
    owner: dict[int, int] = {}
    for index, table in enumerate(data["node"]):
        where = ("node", index)
        node = Node(check.cpu_list(where + ("cpus",), table["cpus"]),
                    check.size(where + ("memory",), table["memory"]))
        if not node.cpus and not node.memory:
            check.fail(where, "the node has neither CPUs nor memory")
        if node.memory % UNITS["MiB"]:
            check.fail(where + ("memory",), "is not a whole number of MiB")
        for cpu in node.cpus:
            if cpu in owner:
                check.fail(where + ("cpus",), f"CPU {cpu} is also on node {owner[cpu]}")
            owner[cpu] = index
        nodes.append(node)
    if not any(node.cpus and node.memory for node in nodes):
        check.fail(("node",), "no node has both CPUs and memory, and a kernel needs one to start on")
    return nodes


def check_totals(check: Checker, data: dict[str, Any], nodes: list[Node]):
    described = sorted(cpu for node in nodes for cpu in node.cpus)
    if not 1 <= data["cpus"] <= MAX_CPUS:
        check.fail(("cpus",), f"{data['cpus']} is outside 1 to {MAX_CPUS}")
    if described != list(range(data["cpus"])):
        check.fail(("cpus",), f"the machine has CPUs 0 to {data['cpus'] - 1}, "
                   f"but its nodes describe {cpu_ranges(described)}")
    total = check.size(("memory",), data["memory"])
    if total != sum(node.memory for node in nodes):
        check.fail(("memory",), f"the machine has {total >> 20} MiB, "
                   f"but its nodes sum up to {sum(node.memory for node in nodes) >> 20} MiB")


def check_distances(check: Checker, matrix: list[Any], nodes: int):
    where = ("distances",)
    if len(matrix) != nodes or any(not isinstance(row, list) or len(row) != nodes
                                   for row in matrix):
        check.fail(where, f"{nodes} nodes need a square matrix of {nodes} rows with {nodes} numbers each")
    for i, row in enumerate(matrix):
        for j, value in enumerate(row):
            if not is_kind(value, int):
                check.fail(where, f"{value!r} (node {i} to {j}) is not a whole number")
            if i == j and value != LOCAL_DISTANCE:
                check.fail(where, f"{value} (node {i} to itself) must be {LOCAL_DISTANCE}")
            if i != j and not LOCAL_DISTANCE < value <= MAX_DISTANCE:
                check.fail(where, f"{value} (node {i} to {j}) must be "
                           f"{LOCAL_DISTANCE + 1} to {MAX_DISTANCE}")


def read(path: Path) -> Machine:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is not UTF-8 text"
        raise LabError(USAGE, f"{path}: cannot read the machine file: {reason}") from error
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        raise LabError(USAGE, f"{path}:{line[1] if line else text.count(chr(10))}: {error}") from error
    check = Checker(path, text)
    check_tables(check, data)
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]{0,62}", data["name"]):
        check.fail(("name",), f"'{data['name']}' must be lower-case letters, digits, '-' and '.'")
    nodes = read_nodes(check, data)
    check_totals(check, data, nodes)
    check_distances(check, data["distances"], len(nodes))
    check_caches(check, data.get("cache", []))
    if "model" in data:
        check_model(check, data["model"], len(nodes))
    check_penalty(check, data.get("penalty", {}))
    return Machine(data["name"], data["summary"], data["source"], nodes, data["distances"],
                   data.get("cache", []), data.get("model", {}))


def known() -> list[Machine]:
    return [read(path) for path in sorted(MACHINES.glob("*.toml"))]


def find(name: str) -> Machine:
    """A machine of the lab by its name, or any machine file by its path."""
    if name.endswith(".toml"):
        return read(Path(name))
    path = MACHINES / f"{name}.toml"
    if "/" in name or not path.exists():
        names = ", ".join(sorted(p.stem for p in MACHINES.glob("*.toml")))
        raise LabError(USAGE, f"there is no machine '{name}': known are {names}, or give a .toml file")
    return read(path)
