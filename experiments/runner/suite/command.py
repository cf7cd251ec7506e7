# SPDX-License-Identifier: GPL-2.0-only
"""A workload of one's own: any program, described by one file of TOML with kind = "command"."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import UsageError

# What words may have in braces, and what stands there when they are run.
PLACES = {
    "nodes": "nodes with CPUs and memory", "cpus": "CPUs of all these nodes", "threads": "CPUs of the smallest of them",
    "memory_mib": "MiB of `memory`", "seed": "number that differs from repeat to repeat",
    "scratch": "folder that is empty at the start of each observation", "data": "folder that `prepare` fills once",
    "port": "free TCP port on loopback", "folder": "folder of the workload's file", "python": "Python with the packages of `needs`",
}
# {time:2.5}, {rate:400}: s, or a number a second; at 1/S of a machine's speed S times as long, and 1/S as many, for the same work.
SCALED = {"time": 1, "rate": -1}  # by name, the power of S
SCALED_PLACE = re.compile(r"(time|rate):(\d+(?:\.\d+)?)")
PLACE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")
SIZE = re.compile(r"\d+[KMG]|\d+(?:\.\d+)? (?:L2|L3|node)")
NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")
KEYS = ("name", "kind", "about", "command", "environment", "prepare", "load", "client", "ready", "warm_up", "metric", "check",
        "needs", "memory", "fast_percent", "oracle", "user", "directory")
MOST_PERCENT = 1000  # of fast_percent
DIRECTIONS = {"higher": True, "lower": False}
TIMES = ("s", "ms", "us", "ns", "min")  # the analysis takes less of these for better, and more of what ends in /s


@dataclass(frozen=True)
class Metric:
    name: str
    unit: str
    higher: bool        # is better
    pattern: str = ""   # its group is the value, in the last match
    json: str = ""      # or a path: names and positions with dots between


SECONDS = Metric("seconds", "s", False)  # of the run, where a file has no metric


@dataclass(frozen=True)
class Need:
    program: str = ""   # on PATH
    debian: str = ""    # the package that has it
    module: str = ""    # or a module of Python
    pypi: str = ""
    version: tuple[str, ...] = ()


@dataclass(frozen=True)
class Condition:
    """Describes being ready, or a right result, by one of these."""

    pattern: str = ""
    port: str = ""
    file: str = ""
    command: tuple[str, ...] = ()


@dataclass(frozen=True)
class Command:
    name: str
    about: str
    folder: Path
    command: tuple[str, ...]
    environment: dict[str, str]
    prepare: tuple[str, ...]
    load: tuple[str, ...]
    client: tuple[str, ...]
    ready: Condition | None
    warm_up: float         # s
    metrics: tuple[Metric, ...]
    check: Condition | None
    needs: tuple[Need, ...]
    memory: str
    fast_percent: float | None             # percent of `memory` that the nodes with CPUs have left for it; None: they are empty
    oracle: tuple[str, ...]   # words with which it places its memory itself
    user: str
    directory: str    # in which its programs run; "" is {scratch}
    table: dict[str, Any]  # as the file has it


def read_workload_file(path: Path, changes: Mapping[str, Any] | None = None) -> Command:
    """Reads a workload's file; `changes`: keys that a suite gives instead of the file's. UsageError: the file is missing or wrong."""
    try:
        return read_table(tomllib.loads(path.read_text(encoding="utf-8")) | dict(changes or {}), path.resolve().parent)
    except FileNotFoundError:
        raise UsageError(f"workload {path}: there is no such file") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"workload {path}: {error}; correct the file") from None
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def read_table(table: Mapping[str, Any], folder: Path) -> Command:
    """Makes a workload from its table, whose relative paths begin in `folder`. UsageError, with its name: a key is missing or wrong."""
    name = table.get("name")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise UsageError("'name' is missing or not of small letters, digits, '-', '_' and '.'")
    try:
        return _read_command(name, table, folder)
    except UsageError as error:
        raise UsageError(f"workload {name}: {error}") from None


def _read_command(name: str, table: Mapping[str, Any], folder: Path) -> Command:
    """Makes a workload from its table. UsageError: a key is missing or wrong, or lacks another that it needs."""
    _check_keys(table, KEYS, "")
    if table.get("kind") != "command":
        raise UsageError(f"'kind' is {table.get('kind')!r}; a program of one's own has kind = \"command\"")
    command = Command(
        name, about=_read_text(table, "about"), folder=folder, command=_read_words(table, "command", needed=True),
        environment=_read_environment(table.get("environment", {})),
        prepare=_read_words(table, "prepare"), load=_read_words(table, "load"), client=_read_words(table, "client"),
        ready=_read_condition(table, "ready", ("pattern", "port", "file")), warm_up=_read_seconds(table.get("warm_up", 0)),
        metrics=_read_metrics(table.get("metric", [])), check=_read_condition(table, "check", ("pattern", "command")),
        needs=tuple(_read_need(need) for need in _read_tables(table.get("needs", []), "needs")),
        memory=_read_memory(table.get("memory", "")), fast_percent=_read_fast_percent(table), oracle=_read_words(table, "oracle"),
        user=_read_text(table, "user", ""), directory=_read_text(table, "directory", ""), table=dict(table))
    if command.client and not command.ready:
        raise UsageError("'client' needs 'ready': a pattern, a port or a file that says when it can begin")
    if command.load and not command.client:
        raise UsageError("'load' is a server's; a program without 'client' loads its data itself")
    check_places("directory", command.directory)
    words = [word for part in (command.command, command.oracle, command.prepare, command.load, command.client) for word in part]
    if not command.memory and any("{memory_mib}" in word for word in words):
        raise UsageError("{memory_mib} needs 'memory', as in \"0.1 node\" or \"64M\"")
    return command


def _check_keys(table: Mapping[str, Any], keys: Iterable[str], where: str) -> None:
    """Checks that a table has only these keys. where: the tables around it, as "metric.". UsageError: it has another."""
    for key in table:
        if key not in keys:
            raise UsageError(f"'{where}{key}' is not one of {', '.join(keys)}")


def _read_text(table: Mapping[str, Any], key: str, default: str | None = None) -> str:
    """Returns the text of a key; the default where the key is missing. UsageError: it is none, or missing without a default."""
    value = table.get(key, default)
    if not isinstance(value, str):
        raise UsageError(f"'{key}' is missing or not a text")
    return value


def _read_words(table: Mapping[str, Any], key: str, needed: bool = False) -> tuple[str, ...]:
    """Reads the words of a command line; () where it is missing and not needed. UsageError: no list of words, or an unknown {place}."""
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value) or not value and (needed or key in table):
        raise UsageError(f"'{key}' is missing or not a list of words, as in [\"program\", \"--option\"]")
    for word in value:
        check_places(key, word)
    return tuple(value)


def check_places(key: str, word: str) -> None:
    """Checks the words in braces of a word of `key`. UsageError: one is none of PLACES and SCALED."""
    for match in PLACE.finditer(word):
        if match[1] is not None and match[1] not in PLACES and not SCALED_PLACE.fullmatch(match[1]):
            raise UsageError(f"'{key}': {match[0]} is not one of {{{'}, {'.join(PLACES)}}}; a brace itself is written twice")


def fill_word(word: str, values: Mapping[str, Any]) -> str:
    """Fills a word's places. values: by name, and `scale`, S of a machine at 1/S of its speed."""
    def fill_place(match: re.Match[str]) -> str:
        """Returns what replaces a match of PLACE: one brace for two, a scaled number, or the value of the name."""
        if match[1] is None:
            return match[0][0]
        if scaled := SCALED_PLACE.fullmatch(match[1]):
            return f"{float(scaled[2]) * values['scale'] ** SCALED[scaled[1]]:g}"
        return str(values[match[1]])
    return PLACE.sub(fill_place, word)


def _read_environment(table: Any) -> dict[str, str]:
    """Checks and copies the table of environment variables. UsageError: one is no text, or has an unknown {place}."""
    if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
        raise UsageError("'environment' is not a table of texts")
    for value in table.values():
        check_places("environment", value)
    return dict(table)


def _read_seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise UsageError("'warm_up' is not a number of seconds")
    return float(value)


def _read_memory(value: Any) -> str:
    if not isinstance(value, str) or value and not SIZE.fullmatch(value):
        raise UsageError("'memory' is neither a size as \"64M\" nor a part of the machine as \"0.1 node\" or \"4 L3\"")
    return value


def _read_fast_percent(table: Mapping[str, Any]) -> float | None:
    """Reads which percentage of `memory` the fast nodes have room for; None where the file does not say. UsageError: it is wrong."""
    value = table.get("fast_percent")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_PERCENT:
        raise UsageError(f"'fast_percent' is not a percentage of 'memory' from 0 to {MOST_PERCENT}")
    if not table.get("memory"):
        raise UsageError("'fast_percent' is a part of 'memory', which is missing")
    return float(value)


def _read_pattern(key: str, text: str, groups: int) -> str:
    """Returns a regular expression as it is. UsageError: it is none, or has not so many groups; groups 0: any number."""
    try:
        groups_found = re.compile(text).groups
    except re.error as error:
        raise UsageError(f"'{key}.pattern': {text!r}: {error}") from None
    if groups and groups_found != groups:
        raise UsageError(f"'{key}.pattern': {text!r} has {groups_found} groups; one group, in parentheses, is the value")
    return text


def _read_condition(table: Mapping[str, Any], key: str, kinds: tuple[str, ...]) -> Condition | None:
    """Reads a condition, which has one of the kinds; None where the key is missing. UsageError: it is wrong."""
    value = table.get(key)
    if value is None:
        return None
    if not isinstance(value, dict) or len(value) != 1 or next(iter(value)) not in kinds:
        raise UsageError(f"'{key}' is not a table with one of {', '.join(kinds)}")
    if "command" in value:
        return Condition(command=_read_words(value, "command", needed=True))
    (kind, text), = value.items()
    if not isinstance(text, str) or not text:
        raise UsageError(f"'{key}.{kind}' is not a text")
    if kind == "pattern":
        return Condition(pattern=_read_pattern(key, text, groups=0))
    check_places(f"{key}.{kind}", text)
    return Condition(**{kind: text})


def _read_tables(value: Any, key: str) -> list[dict[str, Any]]:
    """Returns one table, or several, as a list. UsageError: there is something else. key: as the user wrote it."""
    tables = [value] if isinstance(value, dict) else value
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UsageError(f"'{key}' is not a table or a list of tables")
    return tables


def _read_metrics(value: Any) -> tuple[Metric, ...]:
    """Reads the metrics; SECONDS alone where there are none. UsageError: one is wrong, or two have one name."""
    metrics = tuple(_read_metric(table) for table in _read_tables(value, "metric"))
    names = [metric.name for metric in metrics]
    if len(set(names)) != len(names):
        raise UsageError("'metric': two of them have the same name")
    return metrics or (SECONDS,)


def _read_metric(table: Mapping[str, Any]) -> Metric:
    """Reads a metric. UsageError: its direction is not that of its unit, or it has not one of 'pattern' and 'json'."""
    _check_keys(table, ("name", "unit", "direction", "pattern", "json"), "metric.")
    name, unit, direction = (_read_text(table, key) for key in ("name", "unit", "direction"))
    if not NAME.fullmatch(name):
        raise UsageError(f"metric '{name}': a name has small letters, digits, '-', '_' and '.'")
    if direction not in DIRECTIONS:
        raise UsageError(f"metric {name}: 'direction' is not one of {', '.join(DIRECTIONS)}")
    if unit in TIMES and direction == "higher" or unit.endswith("/s") and direction == "lower":
        raise UsageError(f"metric {name}: {direction} is not better for the unit {unit}, as reports take it")
    if ("pattern" in table) == ("json" in table):
        raise UsageError(f"metric {name}: needs either 'pattern' or 'json'")
    pattern, path = _read_text(table, "pattern", ""), _read_text(table, "json", "")
    return Metric(name, unit, DIRECTIONS[direction], _read_pattern(f"metric {name}", pattern, groups=1) if pattern else "", path)


def _read_need(table: Mapping[str, Any]) -> Need:
    """Reads what a program needs: a program with its Debian package, or a module with its package of PyPI. UsageError: it is neither."""
    _check_keys(table, ("program", "debian", "module", "pypi", "version"), "needs.")
    if set(table) - {"version"} not in ({"program", "debian"}, {"module", "pypi"}):
        raise UsageError("'needs' has entries of either 'program' and 'debian' or 'module' and 'pypi'")
    kept = {key: _read_text(table, key) for key in table if key != "version"}
    return Need(**kept, version=_read_words(table, "version"))
