# SPDX-License-Identifier: GPL-2.0-only
"""Suites: what is run, read from suites/NAME.toml and checked before anything starts."""

import fnmatch
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...errors import UsageError
from ...lab.machine import split_speed
from . import command

FOLDER = Path(__file__).resolve().parents[2] / "suites"

# Of the keys that a suite need not have.
DEFAULTS = {"presents": [], "needs": [], "boots": 0, "sample": 0, "calibrate": True, "quick": {}, "real": {}, "on": {}}

# Parameters of each kind of workload and the type that a value must have.
PARAMETERS: dict[str, dict[str, type]] = {
    "triad": {"size": str, "kernel": str, "seconds": float, "warm": float},
    "redis": {"elements": int, "max_length": int, "load_pipeline": int, "pipeline": int},
    "memory": {"size": str, "kernel": str, "seconds": float, "warm": float, "pages": str},
    "loaded": {"size": str, "load_size": str, "seconds": float, "warm": float, "pages": str},
    "handover": {"size": str, "chunk_size": str, "seconds": float, "warm": float, "pages": str},
    "redis-times": {"max_length": int, "interval": float},
    "redis-benchmark": {"requests": int, "clients": int, "keys": int, "value_bytes": int, "tests": str,
                        "range_requests": int, "range_tests": str},
    "redis-memtier": {"requests": int, "clients": int, "keys": int, "value_bytes": int, "ratio": str},
    "stealing": {"scale": int, "passes": int},
    "command": {"initial_node": int, "look": float},  # a node; s between two looks at what is counted; all else is the workload's own
    "running": {},
}
OPTIONAL = {"initial_node", "look"}
SIZE = re.compile(r"(\d+(?:\.\d+)?) (L2|L3|node)")  # relative to the machine; relative.py resolves them
BYTES = re.compile(r"\d+[KMGkmg]?")
# Counts that may be given as the size of the data instead.
COUNTS = {"redis": "elements", "redis-benchmark": "keys", "redis-memtier": "keys", "stealing": "scale"}
MEMORY_ONLY = "memory-only"  # a level of `memory`, and memory_on, where the machine has a node without CPUs
ALONE = -1  # such a node, until it is chosen
OF_ALL = ("remote_share", "locality_before", "locality_after", "pages_moved")  # metrics of every program
ANYWHERE = -1  # command.initial_node: where the kernel starts a program
REDIS_ROLES = ("server", "client")


@dataclass(frozen=True)
class Task:
    """Describes a process of a workload. Nodes are positions among the machine's usable nodes."""

    role: str
    runs_on: int
    memory_on: tuple[int, ...]
    penalty: float | None = None  # as the suite declares them, for levels that ask for that
    mpki: float | None = None
    threads: int = 1
    group: str = ""  # its bandwidth is also given as bandwidth_GROUP


@dataclass(frozen=True)
class Workload:
    """Describes programs that are measured together, and where they are placed first."""
    name: str
    kind: str
    about: str
    tasks: tuple[Task, ...]
    factors: dict[str, Any] = field(default_factory=dict)  # levels, for the analysis
    options: dict[str, Any] = field(default_factory=dict)  # over the parameters of its kind


@dataclass(frozen=True)
class Suite:
    """Holds a suite's file; `workloads` of a design are made later, on the machine."""
    name: str
    text: str = field(repr=False)
    question: str
    paper: str
    presents: tuple[str, ...]  # the papers' tables and figures that it answers to
    machines: tuple[str, ...]  # of the lab, the first is what --all takes
    takes: str
    needs: tuple[str, ...]     # programs that Debian does not have: --all leaves the suite out without them
    repeats: int
    boots: int                 # of the lab, that the repeats are shared out over unless the user says how many; 0: one a repeat
    warmups: int
    seed: int
    sample: float              # s, that working tasks are watched and counted before they are placed
    calibrate: bool            # the machine, where a policy needs a contention model and no machine file has one
    nodes: int
    responses: tuple[str, ...]
    policies: tuple[str, ...]
    design: str                # makes the workloads from the levels, on a machine
    levels: dict[str, list[Any]]
    workloads: tuple[Workload, ...]
    parameters: dict[str, dict[str, Any]]
    quick: dict[str, Any] = field(repr=False)
    real: dict[str, Any] = field(repr=False)
    on: dict[str, dict[str, Any]] = field(repr=False)  # machine of the lab -> levels that it needs


def list_names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_suite(name: str) -> Suite:
    """Loads the suite of that name, or of that file. UsageError: there is none, or it is wrong."""
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    try:
        if not path.is_file():
            raise UsageError(f"suite '{name}' does not exist; there are: {', '.join(list_names())}") from None
    except OSError as error:
        raise UsageError(f"suite {path}: {error.strerror}") from None
    try:
        text = path.read_text(encoding="utf-8")
        return parse_suite(text, path.resolve().parent)
    except UsageError as error:
        raise UsageError(f"suite {path}: {error}") from None
    except (OSError, ValueError) as error:  # also what is no TOML or no UTF-8
        raise UsageError(f"suite {path}: {error}; correct the file") from None


def parse_suite(text: str, folder: Path = FOLDER) -> Suite:
    """Parses and checks a suite; `folder`: that of the file, which names other files from there. UsageError: it is wrong."""
    data = DEFAULTS | tomllib.loads(text)
    factors = dict(_get_value(data, "factors", dict))
    policies, = _parse_levels({"placement": factors.pop("placement", ["none"])}).values()
    if bool(factors) != ("design" in data) or ("design" in data) == ("workload" in data):
        raise UsageError("needs either [[workload]] tables or a design and its factors")
    suite = Suite(
        name=_get_value(data, "name", str), text=text, question=_get_value(data, "question", str),
        paper=_get_value(data, "paper", str), presents=_get_texts(data, "presents"),
        machines=_get_texts(data, "machines"), takes=_get_value(data, "takes", str), needs=_get_texts(data, "needs"),
        repeats=_get_value(data, "repeats", int), boots=_get_value(data, "boots", int),
        warmups=_get_value(data, "warmups", int),
        seed=_get_value(data, "seed", int), sample=_get_value(data, "sample", float),
        calibrate=_get_bool(data, "calibrate"), nodes=_get_value(data, "nodes", int),
        responses=_get_texts(data, "responses"),
        policies=tuple(policies), design=_get_value({"design": ""} | data, "design", str), levels=_parse_levels(factors),
        workloads=tuple(_parse_workload(w, folder) for w in _check_tables(data.get("workload", []))),
        parameters={kind: _parse_parameters(kind, data) for kind in PARAMETERS},
        quick=_get_value(data, "quick", dict), real=_get_value(data, "real", dict), on=_get_value(data, "on", dict))
    check_suite(suite)
    _check_responses(suite)
    for name in suite.on:
        if name not in suite.machines:
            raise UsageError(f"[on.{name}]: is not one of its machines {', '.join(suite.machines)}")
    for levels in (suite.quick, suite.real, *(_get_value(suite.on, name, dict) for name in suite.on)):
        replace_levels(suite, levels)
    return suite


def _get_value(table: Mapping[str, Any], key: str, kind: type) -> Any:
    """Returns a table's value of this type, an int as the float that is asked for. UsageError: it is missing or of another type."""
    value = table.get(key)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise UsageError(f"'{key}' is missing or not a {kind.__name__}")
    return value


def _get_texts(table: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Returns a table's list of texts. UsageError: it is missing or another value."""
    value = _get_value(table, key, list)
    if not all(isinstance(text, str) for text in value):
        raise UsageError(f"'{key}' is not a list of texts")
    return tuple(value)


def _check_tables(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(table, dict) for table in value):
        raise UsageError("'workload' is no list of tables: write [[workload]]")
    return value


def _get_bool(table: Mapping[str, Any], key: str) -> bool:
    if not isinstance(table[key], bool):
        raise UsageError(f"'{key}' is neither true nor false")
    return table[key]


def _parse_workload(table: Mapping[str, Any], folder: Path) -> Workload:
    """Parses a [[workload]] table of any kind; `folder`: where the files are that it names. UsageError: it is wrong."""
    if "file" in table or table.get("kind") == "command":
        return _parse_command(table, folder)
    name, kind = _get_value(table, "name", str), _get_value(table, "kind", str)
    if kind == "running":
        return _parse_running(table)
    if kind not in PARAMETERS:
        raise UsageError(f"workload {name}: kind '{kind}' is not one of {', '.join(PARAMETERS)}")
    tasks = tuple(_parse_task(t) for t in _get_value(table, "task", list))
    roles = [task.role for task in tasks]
    if not tasks or len(set(roles)) != len(roles):
        raise UsageError(f"workload {name}: needs tasks with different roles")
    if kind == "redis" and tuple(roles) != REDIS_ROLES:
        raise UsageError(f"workload {name}: its roles are {' and '.join(REDIS_ROLES)}")
    return Workload(name, kind, _get_value(table, "about", str), tasks)


def _parse_command(table: Mapping[str, Any], folder: Path) -> Workload:
    """Reads a command from a file, with what the table changes of it, or from the table itself. UsageError: it is wrong."""
    changes = {key: value for key, value in table.items() if key != "file"}
    if "file" in table and changes and "name" not in changes:
        raise UsageError(f"[[workload]] that changes '{min(changes)}' of its 'file' needs a 'name' of its own")
    spec = (command.read_workload_file(folder / _get_value(table, "file", str), changes) if "file" in table
            else command.read_table(table, folder))
    # How many processes it has is seen when it runs.
    return Workload(spec.name, "command", spec.about, (Task("program", 0, (0,)),), options={"command": spec, "memory": spec.memory})


def _parse_running(table: Mapping[str, Any]) -> Workload:
    """Parses a workload of processes that run: their numbers, the seconds that each placement is watched and settles before. UsageError: it
    is wrong."""
    pids = _get_value(table, "pids", list)
    options = {"pids": pids, "seconds": _get_value(table, "seconds", float), "settle": _get_value(table, "settle", float),
               "url": _get_value({"url": ""} | table, "url", str), "pattern": _get_value({"pattern": ""} | table, "pattern", str)}
    if not pids or not all(isinstance(pid, int) for pid in pids):
        raise UsageError(f"workload {table['name']}: 'pids' is not a list of processes")
    return Workload(_get_value(table, "name", str), "running", _get_value(table, "about", str),
                    tuple(Task(f"pid-{pid}", 0, (0,)) for pid in pids), options=options)


def _parse_task(table: Mapping[str, Any]) -> Task:
    """Parses a task of a workload. UsageError: a key is missing or wrong."""
    memory_on = table.get("memory_on")
    nodes = tuple(memory_on) if isinstance(memory_on, list) else (0 if memory_on == MEMORY_ONLY else _get_value(table, "memory_on", int),)
    if not nodes or not all(type(node) is int and node >= 0 for node in nodes) or list(nodes) != sorted(set(nodes)):
        raise UsageError(f"'memory_on' is a node, an ascending list of nodes or '{MEMORY_ONLY}'")
    declared = {key: _get_value(table, key, float) for key in ("penalty", "mpki") if key in table}
    return Task(_get_value(table, "role", str), _get_value(table, "runs_on", int), (ALONE,) if memory_on == MEMORY_ONLY else nodes, **declared)


def _parse_levels(table: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Checks that each factor has a list of levels, and copies the table. UsageError: one has not."""
    for name, levels in table.items():
        if not isinstance(levels, list) or not levels:
            raise UsageError(f"factor '{name}' is not a list of levels")
    return dict(table)


def _parse_parameters(kind: str, tables: Mapping[str, Any]) -> dict[str, Any]:
    """Parses the parameters of a kind of workload, a table of `tables` that may be missing. UsageError: one is unknown, or of another
    type."""
    table = _get_value({kind: {}} | tables, kind, dict)
    for key in table:
        if key not in PARAMETERS[kind]:
            raise UsageError(f"{kind}.{key} is not one of {', '.join(PARAMETERS[kind])}")
        check_size(f"{kind}.{key}", table[key])
    return {key: value if is_data_size(kind, key, value) else _get_value(table, key, PARAMETERS[kind][key])
            for key, value in table.items()}


def check_size(name: str, value: Any) -> None:
    """Checks the value of a parameter that is a size. UsageError: it is none."""
    if name.endswith("size") and not (BYTES.fullmatch(str(value)) or is_size(value)):
        raise UsageError(f"{name}: '{value}' is no size: give bytes, with K, M or G, or parts of the machine's, such as '4 L3'")


def is_size(value: Any) -> bool:
    """Checks whether a value is a size relative to the machine."""
    return isinstance(value, str) and SIZE.fullmatch(value) is not None


def is_data_size(kind: str, key: str, value: Any) -> bool:
    """Checks whether a value is a count that is given as the size of the data."""
    return COUNTS.get(kind) == key and is_size(value)


def check_suite(suite: Suite) -> None:
    """Checks that no parameter of its workloads' kinds is missing, and that the suite has each node that it names. UsageError: not so."""
    for kind in {w.kind for w in suite.workloads}:  # a design's are checked when they are made
        missing = PARAMETERS[kind].keys() - suite.parameters[kind].keys() - OPTIONAL
        if missing:
            raise UsageError(f"{kind}.{min(missing)} is missing")
    initial_node = suite.parameters["command"].get("initial_node", ANYWHERE)
    if not suite.machines:
        raise UsageError("'machines' is empty: name one of the lab, such as demo-2s")
    if not ANYWHERE <= initial_node < suite.nodes:
        raise UsageError(f"command.initial_node: node {initial_node} does not exist; the suite has {suite.nodes} nodes")
    if suite.parameters["command"].get("look", 1) <= 0:
        raise UsageError("command.look: is not more than 0 s")
    for workload in suite.workloads:
        for task in workload.tasks:
            for node in (task.runs_on, *(node for node in task.memory_on if node != ALONE)):
                if not 0 <= node < suite.nodes:
                    raise UsageError(f"workload {workload.name}, task {task.role}: node {node} "
                                     f"does not exist; the suite has {suite.nodes} nodes")


def _check_responses(suite: Suite) -> None:
    """Checks that each response of a suite of commands is measured by one of them, or of every program. UsageError: it is not."""
    if suite.design or any(w.kind != "command" for w in suite.workloads):
        return
    names = (*sorted({metric.name for w in suite.workloads for metric in w.options["command"].metrics}), *OF_ALL)
    for name in suite.responses:
        if name not in names:
            raise UsageError(f"response {name}: no workload measures it; there are: {', '.join(names)}")


def replace_levels(suite: Suite, levels: dict[str, Any]) -> Suite:
    """Returns the suite with the levels and parameters of its [quick], [real] or [on] table instead. UsageError: the table is wrong."""
    parameters = {kind: values | _parse_parameters(kind, levels)
                  for kind, values in suite.parameters.items()}
    numbers = {key: _get_value({key: getattr(suite, key)} | levels, key, int) for key in ("repeats", "boots", "warmups")}
    factors = _parse_levels(_get_value({"factors": {}} | levels, "factors", dict))
    if factors and not suite.design:
        raise UsageError(f"factor '{min(factors)}': the suite has no design, whose factors these are")
    return replace(suite, **numbers, parameters=parameters, sample=_get_value({"sample": suite.sample} | levels, "sample", float),
                   levels=suite.levels | factors)


def take_lab_levels(suite: Suite, lab: str | None) -> Suite:
    """Returns the suite with the levels of its [on] table for a machine of the lab, which are also those of that machine at a part of its
    speed; unchanged for None."""
    name = lab or ""
    return replace_levels(suite, suite.on.get(name, suite.on.get(split_speed(name)[0], {})))


def change_parameters(suite: Suite, assignments: list[str]) -> Suite:
    """Returns the suite with each KIND.PARAMETER=VALUE applied. UsageError: there is no such parameter, or the value is wrong."""
    parameters = {kind: dict(values) for kind, values in suite.parameters.items()}
    for assignment in assignments:
        name, separator, value = assignment.partition("=")
        kind, _, key = name.partition(".")
        value_type = PARAMETERS.get(kind, {}).get(key)
        if not separator or value_type is None:
            known = ", ".join(f"{k}.{p}" for k, ps in PARAMETERS.items() for p in ps)
            raise UsageError(f"--set {assignment}: needs NAME=VALUE with one of {known}")
        try:
            check_size(name, value)
            parameters[kind][key] = value if is_data_size(kind, key, value) else value_type(value)
        except ValueError:
            raise UsageError(f"--set {assignment}: the value is no {value_type.__name__}") from None
    changed = replace(suite, parameters=parameters)
    check_suite(changed)
    return changed


def choose_cells(suite: Suite, workloads: list[str] | None, policies: list[str] | None) -> Suite:
    """Returns the suite with only some of the workloads, by name or pattern ('*-remote'), and programs of the user's by files NAME.toml;
    and with these policies, its own or others. None or []: all, its own. UsageError: nothing has such a name, or a file is wrong."""
    files = [word for word in workloads or [] if word.endswith(".toml")]
    patterns = [word for word in workloads or [] if word not in files]
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(w.name, pattern) for w in suite.workloads):
            raise UsageError(f"workload '{pattern}' is not in suite {suite.name}; "
                             f"there are: {', '.join(w.name for w in suite.workloads)}")
    if workloads:
        suite = replace(suite, workloads=tuple(
            w for w in suite.workloads if any(fnmatch.fnmatchcase(w.name, p) for p in patterns)))
    for file in files:
        suite = _add_file(suite, file)
    return replace(suite, policies=tuple(dict.fromkeys(policies))) if policies else suite


def _add_file(suite: Suite, file: str) -> Suite:
    """Returns the suite with the workload of a user's file and the responses that it measures. UsageError: the suite cannot have it."""
    if suite.design:
        raise UsageError(f"workload {file}: suite {suite.name} makes its workloads of its factors: "
                         "take a suite that lists them, such as arena")
    added = _parse_command({"file": file}, Path())
    if any(w.name == added.name for w in suite.workloads):
        raise UsageError(f"workload {file}: there is one of the name '{added.name}' already: give it another 'name'")
    new_responses = [metric.name for metric in added.options["command"].metrics if metric.name not in suite.responses]
    return replace(suite, workloads=(*suite.workloads, added), responses=(*suite.responses, *new_responses))


def replace_repeats(suite: Suite, repeats: int | None, seed: int | None) -> Suite:
    """Returns the suite with another number of repeats or another seed; None keeps its own. UsageError: fewer than 1 repeat."""
    if repeats is not None and repeats < 1:
        raise UsageError(f"--repeats {repeats}: at least 1 is needed")
    return replace(suite, repeats=suite.repeats if repeats is None else repeats,
                   seed=suite.seed if seed is None else seed)
