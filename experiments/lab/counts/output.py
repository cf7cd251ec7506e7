# SPDX-License-Identifier: GPL-2.0-only
"""What `lab run` says of counts: lines for a person, JSON, JUnit, annotations of hosted runners."""

import json
import shlex
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.etree import ElementTree as xml

from experiments.lab.counts import symbols
from experiments.lab.counts.metrics import Metrics, Verdict
from experiments.lab.counts.profile import Profile, Selection
from experiments.lab.counts.where import Function, Place, Remote

SHOWN = 0.001  # of the remote lines; what has fewer is in the JSON file only


@dataclass(frozen=True)
class Counted:
    """Holds a run and its counts."""
    machine: str
    mode: str
    command: list[str]
    status: int  # the command's
    selection: Selection
    profile: Profile
    metrics: Metrics
    remote: Remote
    verdicts: list[Verdict]

    @property
    def failures(self) -> list[Verdict]:
        return [v for v in self.verdicts if v.failed]


def format_summary(metrics: Metrics) -> str:
    """Formats all metrics but pages as one line."""
    by_node = ", ".join(f"{lines:,} of node {node}" for node, lines in enumerate(metrics.dram))
    return (f"{sum(metrics.dram):,} lines read from DRAM ({by_node}), {metrics.remote_dram:,} of them remote "
            f"({metrics.remote_share:.1%}); {metrics.remote_cache:,} from other nodes' caches; {metrics.loads:,} loads, "
            f"{metrics.stores:,} stores")


def format_most(places: list[Place]) -> str:
    return f"; most: {places[0].what}, {places[0].lines:,} lines" if places else ""


def format_failure(counted: Counted, verdict: Verdict) -> str:
    """Formats one line: metric, value, bound, mapping and function with most remote accesses."""
    function = counted.remote.functions[0].what if counted.remote.functions else None
    by = f", by {function}" if function else ""
    return f"{counted.selection}: {verdict}{format_most(counted.remote.mappings)}{by}"


def format_table(title: str, remote: Remote, all_places: list[Place]) -> Iterator[str]:
    """Yields the lines of a table, by `title`, of those places that have SHOWN or more of the remote lines; none where no place has."""
    places = [place for place in all_places if place.lines >= SHOWN * remote.lines]
    if places:
        yield f"  {'lines':>12} {'part':>6}  remote, by {title}"
    for place in places:
        nodes = f"node {','.join(map(str, place.nodes))}"
        yield f"  {place.lines:12,} {place.lines / remote.lines:6.1%}  {place.what}, {nodes}"


def format_lines(counted: Counted) -> Iterator[str]:
    """Yields what a person is to read: each failure or a summary, the tables, and what is missing in them."""
    for verdict in counted.failures:
        yield f"numaplace lab: --fail-if {shlex.quote(verdict.expression)}: {format_failure(counted, verdict)}"
    if not counted.failures:
        yield f"numaplace lab: {counted.selection}: {format_summary(counted.metrics)}"
    if counted.failures or not counted.verdicts:
        yield from format_table("mapping", counted.remote, counted.remote.mappings)
        yield from format_table("function", counted.remote, counted.remote.functions)
    if counted.failures and counted.remote.unnamed:
        yield f"numaplace lab: {counted.remote.unnamed} has no symbol for that code: build it with -g, and do not strip it"
    if counted.profile.lost:
        yield f"numaplace lab: {counted.profile.lost:,} lines are in the counts and in no table: QEMU is out of memory"


def build_json(counted: Counted) -> dict:
    """Builds the content of the JSON file: all counts, of each task, mapping and function, and the verdicts."""
    metrics = counted.metrics
    return {
        "format": 1, "machine": counted.machine, "mode": counted.mode, "command": counted.command, "status": counted.status,
        "selection": asdict(counted.selection), "metrics": asdict(metrics) | {"remote_share": metrics.remote_share},
        "regions": sorted(counted.profile.regions),
        "mappings": [_build_place(p) for p in counted.remote.mappings], "functions": [_build_place(p) for p in counted.remote.functions],
        "tasks": [asdict(t) for t in counted.selection.select_tasks(counted.profile)],
        "verdicts": [{"expression": v.expression, "failed": v.failed, "true": [asdict(c) for c in v.true]} for v in counted.verdicts],
    }


def _build_place(place: Place) -> dict:
    what = {"name": place.what} if isinstance(place.what, str) else asdict(place.what)
    return {"remote_lines": place.lines, "nodes": list(place.nodes), **what}


def build_junit(counted: Counted) -> str:
    """Builds JUnit's XML: a test case of the command, which fails by its status, and one of each expression."""
    name = shlex.join(counted.command)
    suite = xml.Element("testsuite", name="numaplace", tests=str(1 + len(counted.verdicts)), errors="0",
                        failures=str(len(counted.failures) + bool(counted.status)))
    ran = xml.SubElement(suite, "testcase", classname=counted.machine, name=name)
    if counted.status:
        xml.SubElement(ran, "failure", message=f"exit status {counted.status}")
    for verdict in counted.verdicts:
        case = xml.SubElement(suite, "testcase", classname=counted.machine, name=f"{counted.selection}: {verdict.expression}")
        if verdict.failed:
            xml.SubElement(case, "failure", message=format_failure(counted, verdict)).text = "\n".join(format_lines(counted))
    xml.indent(suite)
    return xml.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def format_annotation(counted: Counted, verdict: Verdict) -> str:
    """Formats a workflow command of hosted runners: at the source line of the first function that has one known, those with most
    remote lines first, in programs below the current folder."""
    below = [place.what for place in counted.remote.functions
             if isinstance(place.what, Function) and place.what.path and not Path(place.what.path).is_absolute()]
    found = (symbols.load_program(str(Path(function.path).absolute())).find_line(function.offset) for function in below)
    path, number = next(filter(None, found), ("", 0))  # "": none has a line known
    where = f" file={_escape_text(path, ',:')},line={number}," if path else " "
    return f"::error{where}title=numaplace::{_escape_text(format_failure(counted, verdict))}"


def _escape_text(text: str, separators: str = "") -> str:
    """Escapes a text for a workflow command; in the value of a property its separators too."""
    for character in "%\r\n" + separators:
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def write_output(counted: Counted, json_to: Path | None, junit_to: Path | None, annotate: bool):
    """Writes the files that are named, then the lines to standard error and, where asked, annotations to standard output."""
    if json_to:
        json_to.write_text(json.dumps(build_json(counted), indent=1) + "\n", encoding="utf-8")
    if junit_to:
        junit_to.write_text(build_junit(counted), encoding="utf-8")
    for line in format_lines(counted):
        print(line, file=sys.stderr, flush=True)
    for verdict in counted.failures if annotate else []:
        print(format_annotation(counted, verdict), flush=True)
