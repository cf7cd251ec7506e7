# SPDX-License-Identifier: GPL-2.0-only
"""manifest.json: the state of the machine and all that is needed to do the run again."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from dataclasses import asdict, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import ExperimentError, UsageError
from ...host import distance, host_nodes, packages, state
from ...host.guard import read_numa_balancing
from ...host.tool import Numaplace
from ...paths import HERE
from .results import FORMAT

if TYPE_CHECKING:
    from ..suite.suite import Suite

NAME = "manifest.json"
SOURCES = "NUMAPLACE_SOURCES"  # which the lab passes on to its guest
LIMIT = 60  # s, for a program that is asked for one line
# Entries that must be equal for a run to be resumed.
SAME = ("suite", "suite_text", "seed", "repeats", "warmups", "workloads", "policies", "parameters",
        "engine", "machine", "platform", "release", "remote", "tool", "module", "cpu", "thp", "model", "repeat_until_ci", "commands")


def collect_manifest(suite: Suite, numaplace: Numaplace, measured_on: str, doubts: list[str]) -> dict[str, Any]:
    """Collects a run's manifest at its beginning. measured_on: platform of a record; doubts: what may scatter or needs a word."""
    nodes = host_nodes.list_nodes()
    return {
        "format": FORMAT,
        "suite": suite.name, "question": suite.question, "paper": suite.paper,
        "machine": host_nodes.read_machine_name(), "platform": measured_on,
        "seed": suite.seed, "repeats": suite.repeats, "warmups": suite.warmups,
        "workloads": {w.name: w.about for w in suite.workloads}, "policies": list(suite.policies),
        "responses": list(suite.responses), "parameters": suite.parameters,
        "engine": numaplace.engine,
        # The command line of the lab's kernel differs from boot to boot: it names a temporary folder.
        "release": platform.release(),
        "kernel": {"release": platform.release(), "version": platform.version(),
                   "cmdline": _read_text("/proc/cmdline")},
        "nodes": [asdict(replace(node, places=())) for node in nodes],
        "topology": numaplace.read_topology()["nodes"],
        "caches": list_caches(nodes),
        "remote": distance.list_remote(suite.workloads, host_nodes.sort_nodes(nodes)),
        "numa_balancing": _parse_number(read_numa_balancing()),
        "doubts": doubts,
        **_read_machine_state(), "module": _read_module_version(), "tool": describe_tool(),
        "redis": _read_output("redis-server", "--version"),
        "python": platform.python_version(), "load": os.getloadavg(),
        "created": _format_now(), "boots": [{"started": _format_now(), **state.read_state()}],
        "suite_text": suite.text,
        "commands": describe_commands(suite),
    }


def write_manifest(directory: Path, manifest: dict[str, Any]) -> None:
    """Writes the manifest, whole or not at all. ExperimentError: it cannot be written."""
    partial = directory / (NAME + ".partial")
    try:
        partial.write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
        os.replace(partial, directory / NAME)
    except OSError as error:
        raise ExperimentError(f"{directory / NAME}: {error.strerror}: free disk space or "
                              "choose another folder with --out") from None


def _format_now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def add_boot(directory: Path, now: dict[str, Any]) -> None:
    """Adds the boot of the manifest `now` to those of the resumed run in the folder, unless they have it already."""
    then = json.loads((directory / NAME).read_text())
    boots = then.get("boots", [])
    if now["boots"][0]["boot_id"] not in [boot["boot_id"] for boot in boots]:
        write_manifest(directory, then | {"boots": boots + now["boots"]})


def add_to_boot(directory: Path, boot_id: str, entries: dict[str, Any]) -> None:
    """Adds entries to those of the boot `boot_id` in the manifest of a folder; nothing where that boot is not in it."""
    manifest = json.loads((directory / NAME).read_text())
    write_manifest(directory, manifest | {"boots": [boot | entries if boot["boot_id"] == boot_id else boot
                                                    for boot in manifest.get("boots", [])]})


def read(directory: Path) -> dict[str, Any]:
    """Reads the manifest with which a run began; {} where none can be read, or what is there is none."""
    try:
        found = json.loads((directory / NAME).read_text())
    except (OSError, ValueError):
        return {}
    is_one = isinstance(found, dict) and isinstance(found.get("repeats", 0), int) and isinstance(found.get("model") or {}, dict)
    return found if is_one else {}


def check_same(directory: Path, now: dict[str, Any]) -> None:
    """Checks that the folder has the beginning of the same run on the same machine as the manifest `now`. UsageError: it has not."""
    path = directory / NAME
    try:
        then = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise UsageError(f"--resume: {path} cannot be read ({error}); start anew with --force") from None
    now = json.loads(json.dumps(now))
    for key in SAME:
        if then.get(key) != now.get(key):
            what = key.replace("_", " ") + name_differences(then.get(key), now.get(key))
            raise UsageError(f"--resume: {path} is of another run: its {what} differs; "
                             "take the same options, another --out, or start anew with --force")


def name_differences(then: Any, now: Any) -> str:
    """Names the entries of a table that differ: ' (commit, programs)'."""
    if not isinstance(then, dict) or not isinstance(now, dict):
        return ""
    return f" ({', '.join(sorted(k for k in then.keys() | now.keys() if then.get(k) != now.get(k)))})"


def list_caches(nodes: list[host_nodes.Node]) -> dict[str, list[int]]:
    """Lists what relative levels are parts of: sizes of the caches in bytes and, node by node, numbers of cores and last-level caches."""
    places = [cpu for node in nodes for cpu in node.places]
    return {"l2_bytes": sorted({cpu.l2_bytes for cpu in places}), "l3_bytes": sorted({cpu.l3_bytes for cpu in places}),
            "cores": [len({cpu.core for cpu in node.places}) for node in nodes],
            "l3": [len({cpu.l3 for cpu in node.places}) for node in nodes]}


def _read_text(path: str | Path) -> str | None:
    """Returns what a file has, without spaces around it; None where it cannot be read."""
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return None


def _parse_number(text: str | None) -> int | None:
    return int(text) if text and text.lstrip("-").isdigit() else None


def _read_output(*command: str | Path) -> str | None:
    """Runs a program. Returns the first line that it prints; None where there is none, or it failed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT,
                              stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = done.stdout.splitlines()
    return lines[0] if lines and not done.returncode else None


def _read_machine_state() -> dict[str, Any]:
    """Reads settings of processor and kernel that times may depend on; None for each that this machine does not say."""
    cpu = Path("/sys/devices/system/cpu")
    info = _read_text("/proc/cpuinfo") or ""
    governors = {_read_text(path) for path in cpu.glob("cpu[0-9]*/cpufreq/scaling_governor")}
    huge = Path("/sys/kernel/mm/transparent_hugepage")
    return {
        "cpu": {"model": _find_field(info, "model name"), "microcode": _find_field(info, "microcode"),
                "online": _read_text(cpu / "online"), "smt": _read_text(cpu / "smt/control"),
                "governors": sorted(filter(None, governors)) or None,
                "no_turbo": _read_text(cpu / "intel_pstate/no_turbo"), "boost": _read_text(cpu / "cpufreq/boost"),
                "vulnerabilities": {path.name: _read_text(path) for path in
                                    sorted((cpu / "vulnerabilities").glob("*"))}},
        "thp": {name: _read_text(huge / name) for name in ("enabled", "defrag")},
        "huge_pages": _parse_number(_read_text("/proc/sys/vm/nr_hugepages")),
        "zone_reclaim_mode": _parse_number(_read_text("/proc/sys/vm/zone_reclaim_mode")),
        "aslr": _parse_number(_read_text("/proc/sys/kernel/randomize_va_space")),
    }


def _find_field(info: str, name: str) -> str | None:
    match = re.search(rf"^{name}\s*:\s*(.*)$", info, re.MULTILINE)
    return match[1] if match else None


def _read_module_version() -> dict[str, Any] | None:
    """Returns the loaded module's version as a table: the pairs KEY=VALUE that it prints, and its srcversion; None where none is loaded."""
    if not Path("/sys/module/numaplace").exists():
        return None
    text = _read_text("/sys/kernel/debug/numaplace/version") or ""
    return dict(pair.split("=", 1) for pair in text.split() if "=" in pair) | {
        "srcversion": _read_text("/sys/module/numaplace/srcversion")}


def read_sources() -> dict[str, Any]:
    """Returns the tree's commit, and whether files were changed since; None for both without git, or of a tree that is no clone."""
    from_host = os.environ.get(SOURCES)
    if from_host and host_nodes.read_lab_name():  # there git takes a tenth of the time
        return json.loads(from_host)
    # The index has the inode numbers of the host; the lab sees others. Without these options the lab's git would
    # read every file, which takes 20 s, and write its own numbers into the index, which are as wrong on the host.
    git = ("git", "--no-optional-locks", "-c", "core.checkStat=minimal", "-c", "core.trustctime=false",
           "-c", f"safe.directory={HERE.code}", "-C", HERE.code)
    commit = _read_output(*git, "rev-parse", "HEAD")
    changed = _read_output(*git, "status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, "changed_since": commit and bool(changed)}


def describe_tool() -> dict[str, Any]:
    """Describes the tree by its commit, and the programs of numaplace that are there by the versions that they print."""
    return {**read_sources(),
            "programs": {name: _read_output(HERE.programs / name, "--version")
                         for name in ("numaplace", "np-mem", "np-hot", "np-mm", "np-files", "np-redis", "np-steal")
                         if (HERE.programs / name).exists()}}


def describe_commands(suite: Suite) -> dict[str, Any] | None:
    """Returns, of workloads that are any program, what their files say and the versions of what they need; None without them."""
    return {w.name: {"workload": w.options["command"].table, "memory": w.options["memory"],
                     "versions": packages.read_versions(w.options["command"])}
            for w in suite.workloads if w.kind == "command"} or None
