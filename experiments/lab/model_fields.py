# SPDX-License-Identifier: GPL-2.0-only
"""The [model] part of a machine file: the contention model's numbers, each with its origin.

    [model.dram]
    latency_ns = { value = 76, source = "calibrated: ..." }

[model.line], [model.core], [model.port] and [model.dram] describe every node; a [[model.node]] says
what is different on one. [[model.link]] joins pairs of nodes. Documentation/lab-model.md has the
meaning of each field, and policies/model/model.h what the C code makes of it.
"""

from dataclasses import dataclass
from typing import Any

MB = 1e6
ORIGINS = ("paper: ", "data sheet: ", "calibrated: ", "assumed: ")


@dataclass(frozen=True)
class Field:
    key: str  # in the model's text form; empty: not of the model, but of the lab's cores
    factor: float = 1
    required: bool = False
    low: float = 0
    high: float = 1e15


# What the file's names become in policies/model/model.h.
NODE_SECTIONS = {
    "core": {"outstanding": Field("core_outstanding", required=True, low=0.01, high=1e6),
             "bandwidth_mb_s": Field("core_bytes_per_s", MB),
             "mhz": Field("", required=True, low=1, high=1e5),
             "instructions_per_cycle": Field("", required=True, low=0.01, high=16)},
    "port": {"bandwidth_mb_s": Field("port_bytes_per_s", MB, required=True),
             "remote_weight": Field("port_remote_weight", required=True),
             "variability": Field("port_variability", required=True)},
    "dram": {"bandwidth_mb_s": Field("dram_bytes_per_s", MB, required=True, low=1),
             "latency_ns": Field("dram_latency_ns", required=True),
             "variability": Field("dram_variability", required=True),
             "local_share": Field("dram_local_share"),
             "local_entries": Field("local_entries"),
             "remote_entries": Field("remote_entries"),
             "local_overflow_loss": Field("local_overflow_loss"),
             "remote_overflow_loss": Field("remote_overflow_loss"),
             "local_overflow_share": Field("local_overflow_share"),
             "stream_loss": Field("stream_loss")},
}
LINK = {"bandwidth_mb_s": Field("bytes_per_s", MB, required=True),
        "latency_ns": Field("latency_ns", required=True),
        "header_bytes": Field("header_bytes", required=True),
        "variability": Field("variability", required=True)}
LINE = {"bytes": Field("line_bytes", required=True, low=16, high=256)}
SECTIONS = ("line", *NODE_SECTIONS, "link", "node")


def check_value(check, where: tuple, entry: Any):
    if not isinstance(entry, dict) or set(entry) != {"value", "source"}:
        check.fail(where, "write it as { value = NUMBER, source = \"ORIGIN: ...\" }")
    value, source = entry["value"], entry["source"]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e15:
        check.fail(where, f"{value!r} is not a number from 0")
    if not isinstance(source, str) or not source.startswith(ORIGINS):
        check.fail(where, f"the source must begin with one of {', '.join(map(repr, ORIGINS))}")


def check_section(check, where: tuple, table: Any, fields: dict[str, Field], whole: bool,
                  others: tuple[str, ...] = ()):
    if not isinstance(table, dict):
        check.fail(where, "is not a table")
    for name, entry in table.items():
        if name in others:
            continue
        if name not in fields:
            check.fail(where + (name,), f"unknown field; known are {', '.join((*others, *fields))}")
        check_value(check, where + (name,), entry)
        if not fields[name].low <= entry["value"] <= fields[name].high:
            check.fail(where + (name,), f"{entry['value']!r} is outside {fields[name].low:g} to {fields[name].high:g}")
    for name, field in fields.items():
        if whole and field.required and name not in table:
            check.fail(where, f"the field '{name}' is missing")


def check_node_number(check, where: tuple, value: Any, nodes: int):
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < nodes:
        check.fail(where, f"there is no node {value!r}")


def check_exception(check, where: tuple, table: Any, nodes: int):
    """A [[model.node]]: what is different on one node."""
    if not isinstance(table, dict) or "node" not in table:
        check.fail(where, "the field 'node' is missing")
    check_node_number(check, where + ("node",), table["node"], nodes)
    for section, fields in table.items():
        if section == "node":
            continue
        if section not in NODE_SECTIONS:
            check.fail(where + (section,), f"unknown table; known are {', '.join(NODE_SECTIONS)}")
        check_section(check, where + (section,), fields, NODE_SECTIONS[section], whole=False)


def check_link(check, where: tuple, table: Any, nodes: int):
    check_section(check, where, table, LINK, whole=True, others=("between",))
    pairs = table.get("between")
    if not isinstance(pairs, list) or not pairs:
        check.fail(where, "the field 'between' is missing: pairs of nodes such as [[0, 1], [1, 2]]")
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2 or pair[0] == pair[1]:
            check.fail(where + ("between",), f"{pair!r} is not a pair of nodes such as [0, 1]")
        for node in pair:
            check_node_number(check, where + ("between",), node, nodes)


def check_model(check, model: dict[str, Any], nodes: int):
    """Reports the first fault in a machine file's [model] to `check`."""
    where = ("model",)
    for section in model:
        if section not in SECTIONS:
            check.fail(where + (section,), f"unknown table; known are {', '.join(SECTIONS)}")
    for section, fields in {"line": LINE, **NODE_SECTIONS}.items():
        if section not in model:
            check.fail(where, f"the table [model.{section}] is missing")
        check_section(check, where + (section,), model[section], fields, whole=True)
    for section, checker in (("node", check_exception), ("link", check_link)):
        if not isinstance(model.get(section, []), list):
            check.fail(where + (section,), f"write each as a table of its own, [[model.{section}]]")
        for index, table in enumerate(model.get(section, [])):
            checker(check, where + (section, index), table, nodes)
    if nodes > 1 and not model.get("link"):
        check.fail(where, f"{nodes} nodes need at least one [[model.link]]")


def node_values(model: dict[str, Any], node: int) -> dict[str, dict[str, float]]:
    """Section -> field -> value of one node, its exceptions included."""
    sections = {name: dict(model[name]) for name in NODE_SECTIONS}
    for exception in model.get("node", []):
        if exception["node"] == node:
            for name in NODE_SECTIONS:
                sections[name] |= exception.get(name, {})
    return {name: {field: entry["value"] for field, entry in table.items()}
            for name, table in sections.items()}


def words(fields: dict[str, Field], values: dict[str, float]) -> list[str]:
    return [f"{fields[name].key}={value * fields[name].factor:.12g}"
            for name, value in values.items() if name in fields and fields[name].key]


def last_level_latency_ns(machine) -> float:
    last = max(machine.cache, key=lambda cache: cache["level"], default={})
    return last.get("latency_ns", 0)


def node_line(machine, number: int) -> str:
    """A node without CPUs has no core and no port, one without memory no controller."""
    node, values = machine.nodes[number], node_values(machine.model, number)
    kept = (["core", "port"] if node.cpus else []) + (["dram"] if node.memory else [])
    cache = last_level_latency_ns(machine) if node.cpus else 0
    return " ".join(["node", str(number),
                     *(word for name in kept for word in words(NODE_SECTIONS[name], values[name])),
                     *([f"cache_latency_ns={cache:g}"] if cache else [])])


def link_lines(model: dict[str, Any]) -> list[str]:
    lines = []
    for link in model.get("link", []):
        values = {name: entry["value"] for name, entry in link.items() if name != "between"}
        lines += [" ".join(["link", str(a), str(b), *words(LINK, values)])
                  for a, b in link["between"]]
    return lines


def model_text(machine) -> str:
    """The machine as np_model_parse() reads it."""
    line = words(LINE, {"bytes": machine.model["line"]["bytes"]["value"]})
    lines = [f"machine name={machine.name} {line[0]}",
             *(node_line(machine, number) for number in range(len(machine.nodes))),
             *link_lines(machine.model)]
    return "\n".join(lines) + "\n"


def core_speed(machine) -> tuple[float, float]:
    """Megahertz, and instructions a cycle while nothing misses."""
    core = machine.model["core"]
    return core["mhz"]["value"], core["instructions_per_cycle"]["value"]


def calibrated(machine) -> list[str]:
    """The numbers whose source is a calibration, by section and field."""
    tables = [(section, machine.model[section]) for section in ("core", "port", "dram")]
    tables += [("link", link) for link in machine.model.get("link", [])]
    tables += [(f"node.{section}", one[section]) for one in machine.model.get("node", [])
               for section in NODE_SECTIONS if section in one]
    return [f"{section}.{name}" for section, table in tables for name, entry in table.items()
            if isinstance(entry, dict) and entry["source"].startswith("calibrated: ")]
