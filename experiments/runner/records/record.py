# SPDX-License-Identifier: GPL-2.0-only
"""The keys of a line of results.jsonl, for those who write and who read it; the schema results-1.json says what their values are."""

from typing import Any, Literal, NotRequired, TypedDict


class Metric(TypedDict):
    name: str
    unit: str
    value: float


class TaskState(TypedDict):
    """Holds what `numaplace ps --json` says of a task."""
    pid: int
    comm: str
    cpus: str                          # a list, as 0-3,8
    node: int | None                   # that it runs on; None: it may run on several
    pages: dict[str, int]              # anonymous pages by node


# What `numaplace apply --json` prints: `error` and `undone`, where it failed, and `decisions`, each with pid, the nodes `to` and
# `pages_to` (None: stays), and `error` or `result`: the new `cpus` and `mem`, and `migrate` with `moved` (pages), `bytes` and `ns`.
Applied = dict[str, Any]


class Task(TypedDict):
    role: str
    pid: int
    comm: str
    node_before: int | None
    pages_before: dict[str, int]       # by node
    locality_before: float | None      # 0..1
    node_after: int | None
    pages_after: dict[str, int]
    locality_after: float | None
    details: NotRequired[dict[str, Any] | None]  # what the workload's program says of itself


class Cost(TypedDict):
    apply_s: float                     # of the whole placement
    watched_s: float                   # of it, in which the tasks were only watched
    move_s: float                      # of it, in which pages were moved
    moved_bytes: int


class Sample(TypedDict):
    t_s: float                         # of the boot's monotonic clock
    pages: dict[str, dict[str, int]]   # by role and node
    moved: int                         # pages, by the placement so far


class Series(TypedDict):
    interval_s: float
    source: str                        # of the counts
    ipc: list[float | None]            # of each interval, None is a gap
    local_dram: list[float | None]     # accesses in each interval
    remote_dram: list[float | None]


class Record(TypedDict):
    """Holds one observation."""
    suite: str
    workload: str
    policy: str                        # with its options, as in n-mass:pages=follow
    repeat: int                        # from 0
    order: int                         # place in the schedule
    seed: int
    platform: Literal["real", "lab-functional", "lab-timed", ""]  # "": it failed before that was known
    started: str                       # ISO 8601, with the offset from UTC
    boot_id: NotRequired[str]
    load: NotRequired[float]           # tasks that run or wait to, on average over a minute
    host_load: NotRequired[float]      # the same of the lab's host
    seconds: float                     # of the whole observation
    steps: NotRequired[dict[str, float]]  # s, by step
    metrics: list[Metric]
    tasks: list[Task]
    apply: Applied | None              # None where nothing was applied
    cost: NotRequired[Cost]
    work: NotRequired[int]             # as RunningWorkload.work
    inputs: NotRequired[dict[str, Any]]  # pilot.Input as a dict, by role
    apply_at: NotRequired[list[float]]  # begin and end, s of the boot's monotonic clock
    kernel: NotRequired[dict[str, Any]]  # as activity.compute_difference() returns it
    mappings: NotRequired[dict[str, dict[str, dict[str, int]]]]  # KiB by role, mapping and node
    samples: NotRequired[list[Sample]]
    series: NotRequired[Series]
    marks: list[str]                   # why it may not be averaged
    check: str                         # "ok", or what is wrong
    factors: NotRequired[dict[str, Any]]  # the workload's levels, by factor
    warmup: NotRequired[bool]
