# SPDX-License-Identifier: GPL-2.0-only
"""The keys of a line of results.jsonl, for those who write and who read it; the schema results-1.json says what their values are."""

from typing import Any, Literal, NotRequired, TypedDict


class Metric(TypedDict):
    name: str
    unit: str
    value: float


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
    apply_s: float
    watched_s: float
    move_s: float
    moved_bytes: int


class Sample(TypedDict):
    t_s: float                         # of the boot's monotonic clock
    pages: dict[str, dict[str, int]]   # by role and node
    moved: int


class Series(TypedDict):
    interval_s: float
    source: str
    ipc: list[float | None]
    local_dram: list[float | None]
    remote_dram: list[float | None]


class Record(TypedDict):
    """Holds one observation."""
    suite: str
    workload: str
    policy: str                        # with its options, as in n-mass:pages=follow
    repeat: int
    order: int                         # place in the schedule
    seed: int
    platform: Literal["real", "lab-functional", "lab-timed", ""]  # "": it failed before that was known
    started: str                       # ISO 8601, with the offset from UTC
    boot_id: NotRequired[str]
    load: NotRequired[float]
    host_load: NotRequired[float]      # of the lab's host
    seconds: float
    steps: NotRequired[dict[str, float]]
    metrics: list[Metric]
    tasks: list[Task]
    apply: dict[str, Any] | None       # what numaplace apply --json printed; None where nothing was applied
    cost: NotRequired[Cost]
    work: NotRequired[int]
    inputs: NotRequired[dict[str, Any]]
    apply_at: NotRequired[list[float]]  # begin and end, by the boot's clock
    kernel: NotRequired[dict[str, float]]
    mappings: NotRequired[dict[str, Any]]
    samples: NotRequired[list[Sample]]
    series: NotRequired[Series]
    marks: list[str]                   # why it may not be averaged
    check: str                         # "ok", or what is wrong
    factors: NotRequired[dict[str, Any]]
    warmup: NotRequired[bool]
