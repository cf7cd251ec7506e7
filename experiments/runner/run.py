# SPDX-License-Identifier: GPL-2.0-only
"""A whole run on this machine: what the command line's 'run' does without --lab."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import CannotError, ExperimentError, UsageError
from ..host import host_nodes, state, ticks
from ..host.guard import NUMA_BALANCING, Guard
from ..host.host_nodes import read_lab_name
from ..host.interrupts import stop_signals
from ..host.tool import Numaplace
from ..mechanisms import registry
from ..units import format_duration
from . import active_mechanism, calibration, check_machine
from .boots import boot_shares
from .observe import Observer
from .observe_static import StaticObserver
from .records import manifest, results
from .records.record import Record
from .repeats import precision
from .suite import designs, estimate, knowledge, schedule
from .suite.suite import Suite, choose_cells
from .workloads.kinds import check_programs

FILES = (results.NAME, manifest.NAME, calibration.LOG)
Report = Callable[[int, int, Record], None]  # the number of an observation, from 1, how many there are, its record
Rule = Callable[[Suite, list[Record]], list[schedule.Trial]]  # the next block after these records; []: the run ends


@dataclass(frozen=True)
class Request:
    """Describes a run that is to be made: its suite, its folder and the options of `experiment run`."""
    suite: Suite
    out: Path
    engine: str = "auto"
    resume: bool = False
    force: bool = False
    workloads: tuple[str, ...] = ()     # names or patterns; all when there are none
    rule: Rule | None = None            # asked for further blocks once the repeats are made
    until_ci: float | None = None       # percent, of that rule
    max_repeats: int = 30
    quick: bool = False
    budget: float | None = None         # seconds
    boots: int = 1                      # that the host shares the repeats out over
    jobs: int = 1                       # boots side by side
    share: Sequence[int] | None = None  # this boot's number, and how many boots there are


def adapt_to_machine(request: Request, nodes: list[host_nodes.Node]) -> Request:
    """Returns the request with the workloads that its suite has on a machine with these nodes."""
    suite = designs.expand_suite(request.suite, host_nodes.select_usable(request.suite.nodes, request.suite.name, among=nodes))
    return replace(request, suite=choose_cells(suite, list(request.workloads), None))


def plan_run(request: Request, lab: str | None) -> Request:
    """Returns the request with as many repeats as the budget is enough for, or as the run began with; prints how long it will take.

    lab: the machine of the lab that it will run on; None: this one. UsageError: the budget is too short for one repeat."""
    if read_lab_name():  # the host has planned it
        return request
    repeats_wanted = request.suite.repeats
    begun_with = manifest.read(request.out).get("repeats") if request.resume and request.budget is not None else None
    if begun_with is not None and begun_with <= repeats_wanted:
        suite = replace(request.suite, repeats=begun_with)
        request = replace(request, suite=suite, boots=boot_shares.choose_boots(suite, request.boots))
    elif request.budget is not None:
        suite = estimate.limit_repeats(request.suite, request.budget * request.jobs, lab)
        request = replace(request, suite=suite, boots=boot_shares.choose_boots(suite, request.boots))
    expected, repeats = estimate.estimate_run(request.suite, lab), request.suite.repeats
    takes = expected.source if expected.seconds is None else f"about {format_duration(expected.seconds / request.jobs)} ({expected.source})"
    fewer = f"; {repeats} of {repeats_wanted} repeats, for the budget" if repeats < repeats_wanted else ""
    print(f"{request.suite.name}: {expected.observations} observations, {takes}{fewer}", flush=True)
    return request


def check_suite(suite: Suite, numaplace: Numaplace) -> None:
    """Checks that this machine has what the suite starts and needs. CannotError: a program, node, mechanism or the module is missing."""
    check_programs(suite)
    nodes = host_nodes.list_nodes()
    active_mechanism.check_mechanisms(suite, nodes)
    placed = [] if schedule.is_static(suite) else registry.select_policies(suite.policies)
    if placed and not host_nodes.has_remote_memory(nodes):
        raise CannotError(f"placement {placed[0]}: this machine has one node with memory, so that nothing can be placed: run it in the lab "
                          "with --lab")
    if numaplace.engine == "module" and not Path("/sys/module/numaplace").exists():
        raise CannotError("--engine module: the module is not loaded: insmod it "
                          "(build/modules/SERIES/numaplace.ko), or take --engine syscall")


def check_policies(suite: Suite, numaplace: Numaplace) -> None:
    """Checks the names and options of the suite's policies. UsageError: one is unknown or wrong."""
    policies = registry.select_policies(suite.policies)
    for level in suite.policies:
        if knowledge.read_knowledge(level) != knowledge.Knowledge() and level not in policies:
            raise UsageError(f"placement {level}: a mechanism is told nothing: leave out #knows and #links")
    try:
        numaplace.check_policies(policies)
    except UsageError as error:
        if 'no policy "' not in str(error):
            raise
        raise UsageError(f"{error}; a placement is also a mechanism: {', '.join(registry.KNOWN)}, or a file ./NAME.py") from None


def prepare_folder(request: Request) -> None:
    """Removes what the folder has of another run, with --force also its results. UsageError: it holds results, and neither --force nor
    --resume was given; ExperimentError: they cannot be removed."""
    try:
        for name in FILES if request.force else ():
            (request.out / name).unlink(missing_ok=True)
    except OSError as error:
        raise ExperimentError(f"{request.out}: {error.strerror}: choose another folder with --out") from None
    if (request.out / results.NAME).exists() and not request.resume:
        raise UsageError(f"{request.out} holds results already: go on with --resume, throw them away "
                         "with --force, or choose another --out")
    if not request.resume:
        (request.out / manifest.NAME).unlink(missing_ok=True)  # of a run that was stopped before its first result


def execute_suite(request: Request, report: Report) -> int:
    """Makes the observations of a suite on this machine, plans and checks included. Returns how many failed their check or carry a mark,
    also when made again."""
    numaplace = Numaplace(engine=request.engine)
    check_policies(request.suite, numaplace)
    request = plan_run(adapt_to_machine(request, host_nodes.list_nodes()), None)
    check_suite(request.suite, numaplace)
    # Of a guest that a run has booted its host holds the folder.
    folder_lock = nullcontext() if manifest.SOURCES in os.environ else results.lock_folder(request.out)
    with stop_signals(), folder_lock, Guard() as guard:
        prepare_folder(request)
        switch_balancing_off(guard)
        platform = numaplace.read_tasks([os.getpid()])["platform"]
        records = results.read_records(request.out)
        request = select_boot(request, records)
        request, model = _make_model(request, numaplace, platform, records, guard.scratch)
        _write_manifest(request, numaplace, platform, model, records)
        make_observer = StaticObserver if schedule.is_static(request.suite) else Observer
        observer = make_observer(request.suite, host_nodes.sort_nodes(host_nodes.list_nodes()), numaplace, guard.scratch, platform, guard)
        writer = results.Writer(request.out)
        try:
            runner = Runner(request, observer, writer, report, records)
            begin = time.monotonic()
            without_clean = runner.make_all()
            estimate.keep_estimate(request.suite, None, time.monotonic() - begin, len(runner.records) - len(records))
        finally:
            writer.close()
    tell_precision(request)
    tell_boots(request)
    return without_clean


def select_boot(request: Request, records: list[Record]) -> Request:
    """Returns the request with the share that this boot of a real machine makes: the one that it has begun, else the first that is left.
    CannotError: this boot has made its share, and the machine is to be rebooted for the others."""
    if request.share or request.boots == 1:
        return request
    shares, boot = boot_shares.divide_repeats(request.suite, request.boots), state.read_boot_id()
    begun = next((share for share in shares if any(share.contains(record) and record.get("boot_id") == boot for record in records)), None)
    shares_left = [share for share in shares if share.has_left(records)]
    if begun and shares_left and begun not in shares_left:
        raise CannotError(f"{request.out}: boot {begun.boot + 1} of {request.boots} is made: reboot this machine, then go on with --resume")
    share = begun or (shares_left or shares)[0]  # of a run that is whole, the first: it makes nothing
    return replace(request, share=(share.boot, request.boots))


def tell_boots(request: Request) -> None:
    """Prints how many boots of a real machine the run still needs; nothing where none is left."""
    if request.boots == 1 or read_lab_name():
        return
    shares_left = [share for share in boot_shares.divide_repeats(request.suite, request.boots) if share.has_left(results.read_records(request.out))]
    if shares_left:
        print(f"{request.suite.name}: {len(shares_left)} of {request.boots} boots are left: reboot this machine, then go on with --resume", flush=True)


def switch_balancing_off(guard: Guard) -> None:
    """Switches NUMA balancing off; without permission the marks of every observation say so."""
    if NUMA_BALANCING.exists():
        with suppress(PermissionError):
            guard.write(NUMA_BALANCING, "0")


def tell_precision(request: Request) -> None:
    """Prints, at the end of a run that was to reach a precision, which means did not."""
    if request.until_ci is None or read_lab_name():  # the host tells it
        return
    message = precision.describe_imprecise(request.suite.responses, results.read_records(request.out), request.until_ci)
    if message:
        print(f"{request.suite.name}: {message}", flush=True)


def _is_begun(request: Request, records: list[Record]) -> bool:
    """Checks whether the run was begun before; a boot beside others has the manifest of the first before it has a record."""
    return bool(records) or request.resume and (request.out / manifest.NAME).exists()


def _make_model(request: Request, numaplace: Numaplace, platform: str, records: list[Record],
                scratch: Path) -> tuple[Request, dict[str, Any] | None]:
    """Chooses the model that policies plan with. Returns the request, whose budget is less by the seconds that this took, and the model for
    the manifest, None where none is needed. records: made before; others: as of choose_model(), with its errors."""
    begin, begun = time.monotonic(), manifest.read(request.out).get("model") if _is_begun(request, records) else None
    with_policies_alone = replace(request.suite, policies=tuple(registry.select_policies(request.suite.policies)))
    model = calibration.choose_model(with_policies_alone, numaplace, platform, request.out, begun, scratch)
    if request.budget is not None:
        request = replace(request, budget=request.budget - (time.monotonic() - begin))
    return request, model


def _write_manifest(request: Request, numaplace: Numaplace, platform: str, model: dict[str, Any] | None,
                    records: list[Record]) -> None:
    """Writes the run's manifest; of a run that goes on, compares it with the one that is there and adds this boot. Prints the share of the
    kernel's ticks where the lab is slowed down. model: as of _make_model(). UsageError: they are of different runs."""
    now = manifest.collect_manifest(request.suite, numaplace, platform, check_machine.list_doubts() if platform == "real" else []) | {
        "model": model,
        "repeat_until_ci": request.until_ci, "max_repeats": request.max_repeats if request.until_ci else None}
    if (scale := host_nodes.read_lab_scale()) > 1:
        share = ticks.measure_tick_share()
        print(f"{request.suite.name}: the kernel's ticks take {100 * share:.1f} % of a CPU at 1/{scale} of the machine's speed", flush=True)
        now["boots"][0]["tick_share"] = round(share, 4)
        now["doubts"] += active_mechanism.describe_scaled(request.suite)
    if request.quick and platform == "real":
        now["doubts"].append("--quick: the lab's small levels, whose arrays may fit into this machine's caches")
    if _is_begun(request, records):
        manifest.check_same(request.out, now)
        manifest.add_boot(request.out, now)
    else:
        manifest.write_manifest(request.out, now)


class Runner:
    """Makes the scheduled observations, and further blocks while its rule asks for them."""

    def __init__(self, request: Request, observer: Observer, writer: results.Writer, report: Report,
                 records: list[Record]) -> None:
        """Takes what the run has measured already as `records`. The budget's clock starts here. report: called with each new record."""
        self.request, self.observer, self.writer, self.report = request, observer, writer, report
        self.records = list(records)
        self.until = None if request.budget is None else time.monotonic() + request.budget

    def make_all(self) -> int:
        """Makes all observations of this boot until the budget is spent. Returns how many never came out without a mark."""
        suite = self.request.suite
        number, boots = self.request.share or (0, 1)
        self._observe(boot_shares.divide_repeats(suite, boots)[number].list_trials())
        while self.request.rule and not self.over:
            block = self.request.rule(suite, self.records)
            if not block:
                break
            self._observe(block, made_before=block[0].order)
        return schedule.count_without_clean(self.records)

    def _observe(self, trials: list[schedule.Trial], made_before: int = 0) -> None:
        """Makes those of the observations that are left, until the budget is spent. made_before: those of the run, for the report."""
        keys_left = {trial.key for trial in self._list_left(trials)}
        for number, trial in enumerate(trials, made_before + 1):
            if self.over:
                return
            if trial.key in keys_left:
                self._observe_one(trial, number, made_before + len(trials))

    def _list_left(self, trials: list[schedule.Trial]) -> list[schedule.Trial]:
        """Returns what is left to make; another boot has warm-ups of its own, where something follows them."""
        done, boot = schedule.find_done(self.records), state.read_boot_id()
        if any(not trial.warmup and trial.key not in done for trial in trials):
            done = schedule.find_done([record for record in self.records
                                       if not record.get("warmup") or record.get("boot_id") == boot])
        return [trial for trial in trials if trial.key not in done]

    @property
    def over(self) -> bool:
        """Checks whether the budget is spent; then no observation begins, and --resume makes what is left."""
        return self.until is not None and time.monotonic() >= self.until

    def _observe_one(self, trial: schedule.Trial, number: int, total: int) -> None:
        """Makes, writes and reports an observation, once more where it has a mark. NotPutBackError: its changes could not be undone."""
        for _attempt in range(schedule.ATTEMPTS):
            record = self.observer.observe(trial)
            self.writer.append(record)
            self.records.append(record)
            self.report(number, total, record)
            if self.observer.left_behind:
                raise self.observer.left_behind
            if schedule.is_clean(record):
                return
