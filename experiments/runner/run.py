# SPDX-License-Identifier: GPL-2.0-only
"""A whole run on this machine: what the command line's 'run' does without --lab."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import machine, manifest, plan, results, workloads
from .errors import CannotError, ExperimentError, Interrupted, UsageError
from .guard import NUMA_BALANCING, Guard
from .numaplace import Numaplace
from .observe import Observer
from .suite import Suite

FILES = (results.NAME, manifest.NAME)
Report = Callable[[int, int, dict[str, Any]], None]


@dataclass(frozen=True)
class Request:
    suite: Suite
    out: Path
    engine: str = "auto"
    resume: bool = False
    force: bool = False


def check(suite: Suite, numaplace: Numaplace) -> list[machine.Node]:
    """Everything that can be known to be wrong before the first process starts."""
    check_policies(suite, numaplace)
    workloads.check_programs(suite)
    nodes = machine.usable(suite.nodes, suite.name)
    if numaplace.engine == "module" and not Path("/sys/module/numaplace").exists():
        raise CannotError("--engine module: the module is not loaded: insmod it "
                          "(build/modules/SERIES/numaplace.ko), or take --engine syscall")
    return nodes


def check_policies(suite: Suite, numaplace: Numaplace) -> None:
    answer = numaplace.policies()
    listed = answer["policies"] if isinstance(answer, dict) else answer
    known = [policy["name"] for policy in listed]
    for policy in suite.policies:
        if policy not in known:
            raise UsageError(f"policy '{policy}' does not exist; there are: {', '.join(known)}")


def prepare_folder(request: Request) -> None:
    """Results are never mixed with other ones, nor thrown away unasked."""
    try:
        request.out.mkdir(parents=True, exist_ok=True)
        if request.force:
            for name in FILES:
                (request.out / name).unlink(missing_ok=True)
    except OSError as error:
        raise ExperimentError(f"{request.out}: {error.strerror}: choose another folder with --out") from None
    if (request.out / results.NAME).exists() and not request.resume:
        raise UsageError(f"{request.out} holds results already: go on with --resume, throw them away "
                         "with --force, or choose another --out")


def run(request: Request, report: Report) -> int:
    """Returns how many observations failed their check or carry a mark, also when made again."""
    numaplace = Numaplace(engine=request.engine)
    nodes = check(request.suite, numaplace)
    prepare_folder(request)
    items = plan.make(request.suite)
    with stop_signals(), Guard({NUMA_BALANCING: "0"}) as guard:
        done = _manifest(request, numaplace)
        todo = [item for item in items if item.key not in done]
        writer = results.Writer(request.out)
        try:
            return _observe_all(request, Observer(request.suite, nodes, numaplace, guard.scratch),
                                todo, len(items), writer, report)
        finally:
            writer.close()


def _manifest(request: Request, numaplace: Numaplace) -> set[tuple[str, str, int, bool]]:
    """Writes it, or compares it when this run goes on with another. Returns what is done."""
    source = numaplace.ps([os.getpid()])["where"]
    now = manifest.collect(request.suite, numaplace, source)
    records = results.read(request.out)
    if records:
        manifest.check_same(request.out, now)
    else:
        manifest.write(request.out, now)
    return plan.done(records)


def _observe_all(request: Request, observer: Observer, todo: list[plan.Item], total: int,
                 writer: results.Writer, report: Report) -> int:
    bad = 0
    for item in todo:
        for _attempt in range(plan.ATTEMPTS):
            record = observer.observe(item)
            writer.append(record)
            report(item.order + 1, total, record)
            if plan.is_clean(record):
                break
        bad += not plan.is_clean(record)
    return bad


class stop_signals:
    """SIGINT, SIGTERM and SIGHUP become one Interrupted; more of them do not disturb the undoing."""

    NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __enter__(self) -> None:
        self.before = {number: signal.signal(number, self._stop) for number in self.NUMBERS}

    def _stop(self, number: int, _frame: object) -> None:
        for other in self.NUMBERS:
            signal.signal(other, signal.SIG_IGN)
        raise Interrupted(number)

    def __exit__(self, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)


def line(number: int, total: int, record: dict[str, Any]) -> str:
    """An observation as one line of text."""
    values = {m["name"]: m for m in record["metrics"]}
    first = record["metrics"][0] if record["metrics"] else None
    parts = [f"{number:{len(str(total))}}/{total}", f"{record['workload']:16}", f"{record['policy']:14}"]
    if first:
        parts.append(f"{first['value']:8.0f} {first['unit']:6}")
    if "locality_before" in values and "locality_after" in values:
        parts.append(f"locality {values['locality_before']['value']:.2f} -> "
                     f"{values['locality_after']['value']:.2f}")
    parts.append(f"{record['seconds']:.1f} s")
    if record.get("warmup"):
        parts.append("(warm-up)")
    troubles = record["marks"] + ([record["check"]] if record["check"] != "ok" else [])
    return "  ".join(parts) + "".join(f"\n    ! {text}" for text in troubles)
