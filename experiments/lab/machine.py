# SPDX-License-Identifier: GPL-2.0-only
"""Machine files as `numaplace machine --json` reads and checks them."""

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiments.lab.errors import UNABLE, LabError
from experiments.paths import HERE

MACHINES = Path(__file__).parent / "machines"
SHAPE = re.compile(r"[0-9x+:KMG]+")  # LETTERS of userspace/lib/files/machine_shape.c
SHAPE_MODEL = "demo-2s"  # the machine whose file has the rest
CALIBRATED = "calibrated: "
OF_NODE = "node."
TOOL = HERE.programs / "numaplace"


@dataclass
class Node:
    cpus: list[int]
    memory: int  # bytes


@dataclass
class Machine:
    """Describes a machine as its file does; memory in bytes."""
    name: str
    summary: str
    source: str
    nodes: list[Node]
    distances: list[list[int]]
    cache: list[dict[str, Any]] = field(default_factory=list)  # sizes in bytes
    model: dict[str, Any] = field(default_factory=dict)  # numbers as {"value": .., "source": "ORIGIN: .."}
    model_text: str = ""  # as np_model_parse() reads it
    plugin: str = ""  # what the file has for QEMU's plugin; "" where the machine's time cannot be simulated
    access: dict[str, list[list[float | None]]] = field(default_factory=dict)  # latency_ns, bandwidth_mb_s: [from][to]
    purpose: str = ""  # "for" of the file
    changes: list[str] = field(default_factory=list)  # numbers that are not the file's: NAME=NUMBER, without blanks
    scale: int = 1  # S of a machine at 1/S of its speed, whose name ends in /S

    @property
    def cpus(self) -> int:
        return sum(len(node.cpus) for node in self.nodes)

    @property
    def memory(self) -> int:
        return sum(node.memory for node in self.nodes)

    @property
    def core_speed(self) -> tuple[float, float]:
        """Returns MHz, and instructions a cycle while nothing misses. KeyError: the file has no [model]."""
        core = self.model["core"]
        return core["mhz"]["value"], core["instructions_per_cycle"]["value"]

    @property
    def calibrated(self) -> dict[str, str]:
        """Returns what the calibrated numbers were calibrated against, by table and field; of one node: node.dram.FIELD."""
        return {f"{table}.{key}": entry["source"].removeprefix(CALIBRATED) for table, key, entry in self.list_numbers()
                if entry["source"].startswith(CALIBRATED)}

    def list_numbers(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Yields table, key and {"value": .., "source": ..} of each number of [model]; the table of one node begins with OF_NODE."""
        tables = [(name, table) for name, table in self.model.items() if isinstance(table, dict)]
        tables += [("link", link) for link in self.model.get("link", [])]
        tables += [(f"{OF_NODE}{name}", table) for one in self.model.get("node", []) for name, table in one.items()
                   if isinstance(table, dict)]
        for name, table in tables:
            yield from ((name, key, entry) for key, entry in table.items() if isinstance(entry, dict))


def describe_machine(name: str, changes: Sequence[str] = ()) -> dict[str, Any]:
    """Has the tool describe a machine; returns the object of `numaplace machine --json`. LabError: the tool refuses it.

    name: of a machine of the lab, a shape, or a machine file's path. changes: NAME=NUMBER, of numbers that are not the file's."""
    options = [f"--set={change}" for change in changes]
    try:
        answer = subprocess.run([TOOL, "machine", "--json", *options, "--", name], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        remedy = HERE.remedy("run make tools", "install it again")
        raise LabError(UNABLE, f"{TOOL} is missing, and it reads the machine files: {remedy}") from None
    if answer.returncode:
        raise LabError(answer.returncode, answer.stderr.strip().removeprefix("numaplace: ")
                       or f"numaplace machine ended with status {answer.returncode}")
    return json.loads(answer.stdout)


def find(name: str, changes: Sequence[str] = ()) -> Machine:
    """Finds a machine. name, changes and LabError: as of describe_machine()."""
    description = describe_machine(name, changes)
    nodes = [Node(**node) for node in description["nodes"]]
    optional = {key: description[key] for key in ("cache", "model", "model_text", "plugin", "access", "scale") if key in description}
    return Machine(description["name"], description["summary"], description["source"], nodes, description["distances"], **optional,
                   purpose=description.get("for", ""), changes=["".join(change.split()) for change in changes])


def names() -> list[str]:
    return sorted(path.stem for path in MACHINES.glob("*.toml"))


def is_known(name: str) -> bool:
    base, _ = split_speed(name)
    return base in names() or is_shape(base)


def split_speed(name: str) -> tuple[str, int]:
    """Splits a machine's name or file, such as demo-2s/16, into that of the machine at full speed and S.

    S is 1 where there is none, as in a path such as /dev/fd/63."""
    base, slash, speed = name.rpartition("/")
    scaled = slash and speed.isdigit() and ("/" not in base or base.endswith(".toml"))
    return (base, int(speed)) if scaled else (name, 1)


def is_shape(name: str) -> bool:
    """Checks whether this is a machine without a file, such as 2x2."""
    return bool(SHAPE.fullmatch(name))


def split_title(title: str) -> tuple[str, list[str]]:
    """Splits a title of results, such as demo-2s+dram.latency_ns=90, into its machine and what was changed of it, NAME=NUMBER each."""
    words = title.split("+")  # a shape, such as 2x2+1, has two
    return ("+".join(word for word in words if "=" not in word),
            [change for word in words if "=" in word for change in word.split(",")])


def list_machines() -> list[Machine]:
    return [find(name) for name in names()]
