# SPDX-License-Identifier: GPL-2.0-only
"""Prabhanjan et al. 2018: Tables 7.1 to 7.5 with TR/TL, counters over time, redis-benchmark."""

from __future__ import annotations

from operator import itemgetter

from ..figures import charts
from ..figures.charts import Curve, Point
from ..runs import text_format
from ..runs.results import Observation, Results
from ..stats.intervals import Ratio, compute_ratio, compute_t_interval
from . import reference
from .cells import Cells, Level
from .chapter import Cell, Chapter, Table, find_like, format_number
from .comparison import Printed, convert_to_ratio

PAPER = ("Prabhanjan et al.: Performance Impact of NUMA Architecture on Redis, project report, "
         "Visvesvaraya Technological University, 2018")
MACHINES = "2 × Intel Xeon E5-2620 v4, distance 21"
XEON = "Xeon E5-2620 v4"
NAMES = {"e5-2620v4": XEON, "e5-2620 v4": XEON}
TABLES = {"sort": ("Table 7.1", "7.1"), "random-update": ("Table 7.2", "7.2"),
          "lists": ("Table 7.3", "7.3"), "tokens": ("Experiment 4", "experiment 4"),
          "keys": ("Table 7.4", "7.4"), "zsets": ("Table 7.5", "7.5")}
FAR_ACCESSES = (0.05, 2.2)  # percent of the local DRAM accesses: chapter 7 has the busiest CPU's and that of all CPUs

DIFFERS = (
    "LSET is sent the index of an element, as Redis asks; the paper passes the old value, which Redis refuses.",
    "All three sorted sets are read back, the paper's ZRANGE names the first only; strings are distinct and have four "
    "characters at least.",
    "Redis 7 over a Unix socket stands for Redis 4 over TCP to 127.0.0.1; threads are pinned to CPUs.",
    "Sort is a quicksort of the program's own, with its comparison inlined; the paper calls a comparison function.",
    "The tokens come from memory; the paper reads a file, which is its explanation of the equal times.",
    "Table 7.2's sizes of 10^10 and 10^11 overflow 32 bits: the hardware suite takes them modulo 2^32. A pass of random "
    "updates has no fill of the array in its time, the paper's has. "
    "Table 7.1's third size is printed as 3 × 10^7 and taken as 3 × 10^8 (errata of the papers in the documents).",
)
NO_FILL = (" The paper's times have the fill of the array in them, ours are of the updates alone. A row of the paper stands "
           "beside the case that its times fit, as 10^10 overflows 32 bits (errata of the papers in the documents).")
FACTORS = ("experiment", "size", "accesses", "pipeline", "memory")  # of times
COUNTED = ("experiment", "size", "pipeline", "memory")
BENCHMARK_DIFFERS = (
    "The paper's redis-benchmark has 3-byte values, 100 000 requests, 50 clients and one key a command. The hardware suite "
    "runs that, and 1 KiB at random keys so that the data leave the caches; the lab runs 16 KiB at random keys alone.",
    "Redis 7 over a Unix socket stands for Redis 4 over TCP to 127.0.0.1.",
    "Figs 8.7 and 8.8 are said to be of experiment 7 with sorted sets, which are experiment 6: they stand there.",
)
BENCHMARKED = ("pipeline", "memory", "value_bytes")
PRINTED_BYTES = 3  # of the paper's values


def _make_chapter(results: Results, name: str, title: str, says: str, differs: tuple[str, ...] = DIFFERS) -> Chapter:
    return Chapter(name, title, PAPER, MACHINES, says, machine=find_like(results, NAMES), differs=differs)


def make_times(results: Results, slug: str) -> Chapter:
    """Makes the chapter of Tables 7.1 to 7.5: seconds with local and remote memory; `slug` begins the ids of its drawings."""
    cells = Cells(results, FACTORS)
    chapter = _make_chapter(
        results, "prabhanjan-times", "Times with local and remote memory",
        "Sorting, lists and token counts take as long with remote memory as with local. Random "
        "updates of large arrays take up to 1.58 times as long; random keys and sorted sets are "
        "slower where they are large. The paper has one run of each and no spread.")
    chapter.missing = cells.describe_missing(("experiment", "size", "memory"), ("seconds",))
    if chapter.missing:
        return chapter
    ran = [e for e in TABLES if cells.values("seconds", experiment=e)]
    chapter.title += f": {', '.join(ran)}"
    for experiment in ran:
        chapter.tables.append(_make_table(cells, experiment))
    chapter.draw("TR/TL of all tables", _draw_ratios(cells, slug),
                 "Time with remote memory over time with local; 1 is no difference.")
    chapter.compare(results, lambda run: _list_printed_times(Cells(run, FACTORS)))
    chapter.found = _describe_ratios(cells)
    return chapter


def _list_cases(cells: Cells, experiment: str) -> list[dict[str, Level]]:
    """Returns the cases of a table, by size, accesses and pipeline, each with those of the three that it has."""
    found = {tuple((f, o.factors[f]) for f in ("size", "accesses", "pipeline") if f in o.factors)
             for o in cells.select(experiment=experiment)}
    return [dict(case) for case in sorted(found, key=lambda c: _make_sort_key(dict(c)))]


def find_measured_case(row: dict[str, str]) -> dict[str, Level]:
    """Returns the case whose times the row has, which in Table 7.2 is not always the printed one (errata of the papers)."""
    return {name: float(text) for name in ("size", "accesses") if (text := row[f"ran_{name}"] or row[name])}


def _compute_ratio(cells: Cells, **case: Level) -> Ratio | None:
    """Computes TR/TL, the seconds with remote memory over those with local; None without both."""
    return compute_ratio(cells.values("seconds", memory="remote", **case), cells.values("seconds", memory="local", **case))


def format_ratio(found: Ratio | None) -> Cell:
    """Formats a ratio with its limits; a dash where there is none."""
    if found is None:
        return Cell(text_format.DASH)
    limits = "" if found.low is None else f" ({found.low:.3f} to {found.high:.3f})"
    return Cell(f"{found.value:.3f}{limits}", found.value)


def _make_table(cells: Cells, experiment: str) -> Table:
    """Makes a paper's table by size: seconds with local and remote memory and TR/TL, our row above the paper's."""
    title, key = TABLES[experiment]
    rows: list[tuple[tuple[float, ...], tuple[Cell, ...]]] = []  # by size, ours above the paper's
    for case in _list_cases(cells, experiment):
        levels = {"experiment": experiment, **case}
        seconds = [format_number(cells.interval("seconds", memory=m, **levels)) for m in ("local", "remote")]
        ratio = format_ratio(_compute_ratio(cells, **levels))
        rows.append((_make_sort_key(case), (Cell(_format_case(case)), Cell("ours"), *seconds, ratio)))
    for row in _read_printed_times(key):
        local, remote = float(row["local_s"]), float(row["remote_s"])
        case = {name: float(row[name]) for name in ("size", "accesses") if row[name]}
        seconds = [Cell(row["local_s"], local), Cell(row["remote_s"], remote)]
        ratio = Cell(f"{remote / local:.3f}", remote / local)
        rows.append((_make_sort_key(find_measured_case(row)), (Cell(_format_case(case)), Cell("paper"), *seconds, ratio)))
    return Table(title, f"{experiment.capitalize()}: wall-clock seconds, ours with 95 % intervals "
                 "(of the ratio: Fieller's); rows of the paper are labelled paper and have one run."
                 + NO_FILL * (experiment == "random-update"),
                 ("size", "from", "TL, s", "TR, s", "TR/TL"),
                 tuple(cells_of_row for _, cells_of_row in sorted(rows, key=itemgetter(0))))


def _read_printed_times(table: str) -> list[dict[str, str]]:
    return [row for row in reference.read_rows("redis-tables-7.1-7.5.csv") if row["table"] == table]


def _list_printed_times(cells: Cells) -> list[Printed]:
    """Lists TR/TL of the rows that were run, and their seconds, but of random updates: the paper's have the fill of the array in them.

    Where no size of a table was run, its smallest and largest stand beside ours."""
    printed = []
    for experiment, (_, key) in TABLES.items():
        pairs, same_size = _pair_rows(_read_printed_times(key), _list_cases(cells, experiment))
        for row, case in pairs:
            name = _format_case({"experiment": experiment} | find_measured_case(row))
            name = f"{experiment}, {name}" if same_size else f"{experiment}, ours {_format_case(case)}, paper {name}"
            case = {"experiment": experiment, **case}
            printed.append(Printed.number(name, "TR/TL", float(row["remote_s"]) / float(row["local_s"]), _compute_ratio(cells, **case)))
            if same_size and experiment != "random-update":
                printed += [Printed.number(f"{name}, {memory}", "s", float(row[f"{memory}_s"]),
                                           cells.interval("seconds", memory=memory, **case))
                          for memory in ("local", "remote")]
    return printed


def _pair_rows(rows: list[dict[str, str]], cases: list[dict[str, Level]]) -> tuple[list[tuple[dict[str, str], dict[str, Level]]], bool]:
    """Pairs a table's rows with our cases, not pipelined where both were run; returns the pairs and whether their sizes are equal.

    Where no size is equal, the pairs are those of the smallest and of the largest size."""
    # Of cases that differ in the pipeline the first one, which is not pipelined, is kept.
    ours = {_get_amounts(case): case for case in reversed(cases)}
    same = [(row, ours[amounts]) for row in rows if (amounts := _get_amounts(find_measured_case(row))) in ours]
    if same or not ours:
        return same, True
    by_size = sorted(rows, key=lambda row: _get_amounts(find_measured_case(row)))
    smallest, largest = (by_size[0], ours[min(ours)]), (by_size[-1], ours[max(ours)])
    return [smallest, largest] if len(ours) > 1 and len(rows) > 1 else [largest], False


def _get_amounts(case: dict[str, Level]) -> tuple[float, float]:
    """Returns size and accesses of a case; 0 for what it has not."""
    return float(case.get("size") or 0), float(case.get("accesses") or 0)


def _make_sort_key(case: dict[str, Level]) -> tuple[float, float, float]:
    """Returns size, accesses and pipeline of a case; 0 for what it has not."""
    return *_get_amounts(case), float(case.get("pipeline") or 0)


def _format_case(case: dict[str, Level]) -> str:
    """Formats a case as its size, its accesses and its pipeline, as far as it has them."""
    parts = [text_format.format_count(float(case["size"]))] if case.get("size") else ["one text"]
    if "accesses" in case:
        parts.append(f"{text_format.format_count(float(case['accesses']))} accesses")
    if "pipeline" in case:
        parts.append("not pipelined" if case["pipeline"] == 1 else f"pipeline {case['pipeline']}")
    return ", ".join(parts)


def _draw_ratios(cells: Cells, slug: str) -> str:
    """Draws TR/TL of each table by the size of the data, on a logarithmic axis, ours and the paper's; returns an <svg> element."""
    curves = []
    for i, (experiment, (_, key)) in enumerate(TABLES.items()):
        ours = []
        for case in _list_cases(cells, experiment):
            found = _compute_ratio(cells, experiment=experiment, **case)
            if found and case.get("size") and case.get("pipeline", 1) == 1:
                ours.append(Point(float(case["size"]), found.value, found.low, found.high))
        printed = [Point(float(find_measured_case(row)["size"]), float(row["remote_s"]) / float(row["local_s"]))
                   for row in _read_printed_times(key) if row["size"]]
        if ours:
            curves.append(Curve(experiment, tuple(ours), colour=i))
            if printed:
                printed.sort(key=lambda p: p.x)
                curves.append(Curve(f"{experiment}, paper", tuple(printed), paper=True, colour=i))
    return charts.draw_lines(curves, f"{slug}-ratios", "TR/TL", "elements, keys or ints", "TR/TL",
                             from_zero=False, log_x=True)


def _describe_ratios(cells: Cells) -> str:
    """Returns a sentence with the smallest and the largest TR/TL of each experiment."""
    parts = []
    for experiment in [e for e in TABLES if cells.values("seconds", experiment=e)]:
        found = [r.value for case in _list_cases(cells, experiment)
                 if (r := _compute_ratio(cells, experiment=experiment, **case))]
        if found:
            span = f"{min(found):.2f}" if len(found) == 1 else f"{min(found):.2f} to {max(found):.2f}"
            parts.append(f"{experiment} {span}")
    return f"TR/TL: {', '.join(parts)}."


def make_counters(results: Results, slug: str) -> Chapter:
    """Makes the chapter of Figs 8.1 to 8.8: counters over time in s; `slug` begins the ids of its drawings."""
    cells = Cells(results, COUNTED)
    chapter = _make_chapter(
        results, "prabhanjan-counters", "Counters over time with local and remote memory",
        "With local memory the server's cycles per instruction are lower, its instructions per "
        "cycle higher, and there is hardly a remote DRAM access, even where times do not differ.")
    counted = _select_counted(results)
    names = {name for o in counted for name in ("ipc", "local_dram", "remote_dram")
             if _drop_missing(o.raw["series"].get(name))}
    if not names:
        chapter.missing = cells.refused or ["series of counters: this machine, or this run, counts none"]
        return chapter
    chapter.missing = [f"series {n}" for n in ("ipc", "local_dram", "remote_dram") if n not in names]
    for experiment in sorted({str(o.factors.get("experiment")) for o in counted}):
        cases = _select_cases(counted, experiment)
        for i, case in enumerate(cases):
            _draw_series(chapter, case, experiment, names, f"{slug}-{i}")
    chapter.compare(results, lambda run: _list_printed_accesses(_select_counted(run)))
    return chapter


def _list_printed_accesses(kept: list[Observation]) -> list[Printed]:
    """Lists remote DRAM accesses in percent of local ones, with local memory, of the largest size of each experiment."""
    return [Printed(f"{experiment}, remote / local DRAM accesses with local memory", "%", *FAR_ACCESSES,
                    _compute_far_accesses(_select_cases(kept, experiment)[0]))
            for experiment in sorted({str(o.factors.get("experiment")) for o in kept})]


def _compute_far_accesses(kept: list[Observation]) -> Ratio | None:
    """Returns remote accesses in percent of the local ones, over each observation's time."""
    sums = [[sum(_drop_missing(o.raw["series"].get(name))) for name in ("local_dram", "remote_dram")]
            for o in kept if o.factors.get("memory") == "local"]
    found = [100 * remote / local for local, remote in sums if local]
    return convert_to_ratio(compute_t_interval(found)) if found else None


def _select_counted(results: Results) -> list[Observation]:
    return [o for o in Cells(results, COUNTED).observations if isinstance(o.raw.get("series"), dict)]


def _select_cases(kept: list[Observation], experiment: str) -> list[list[Observation]]:
    """Groups an experiment's observations by size of the data, largest first, not pipelined where that was run.

    In a group nothing differs but the memory's node. Sizes without one of the memories are left out, unless no size has both: then there
    is one group, the largest."""
    def get_case(o: Observation) -> tuple[float, float]:
        return float(o.factors.get("size") or 0), float(o.factors.get("pipeline") or 0)

    observations = [o for o in kept if str(o.factors.get("experiment")) == experiment]
    local, remote = ({get_case(o) for o in observations if o.factors.get("memory") == memory} for memory in ("local", "remote"))
    cases = local & remote or {max(map(get_case, observations))}
    pipelines = {size: min(p for s, p in cases if s == size) for size, _ in cases}
    return [[o for o in observations if get_case(o) == wanted] for wanted in sorted(pipelines.items(), reverse=True)]


def _drop_missing(series: object) -> list[float]:
    return [v for v in series if isinstance(v, (int, float))] if isinstance(series, list) else []


def _draw_series(chapter: Chapter, observations: list[Observation], experiment: str, names: set[str],
                 slug: str) -> None:
    """Draws the figures of one case's counters over time in s into the chapter; `names` are the series that the run has."""
    figures = [("Figs 8.7 and 8.8", "ipc", "IPC", False), ("Figs 8.5 and 8.6", "ipc", "CPI", True),
               ("Figs 8.1 and 8.2", "local_dram", "local DRAM accesses", False),
               ("Figs 8.3 and 8.4", "remote_dram", "remote DRAM accesses", False)]
    for figure, name, label, inverse in figures:
        if name not in names:
            continue
        curves = [c for memory in ("local", "remote") if (c := _make_curve(observations, memory, name, inverse))]
        key = label.lower().replace(" ", "-")
        case = _format_case(observations[0].factors) if "size" in observations[0].factors else experiment
        counted = observations[0].raw["series"].get("source")
        chapter.draw(figure, charts.draw_lines(curves, f"{slug}-{experiment}-{key}",
                                               f"{experiment}: {label} over time", "time, s", label),
                     f"{experiment}, {case}: {label} of the first clean observation of each; the "
                     "others are in results.jsonl. The paper prints this figure as a picture."
                     + (f" Counted by: {counted}." if counted else ""))


def _make_curve(observations: list[Observation], memory: str, name: str, inverse: bool) -> Curve | None:
    """Makes the curve of a series over time in s, of the first observation with this memory; None where none has it.

    inverse: of 1 / value, without values that are 0."""
    first = next((o for o in observations if o.factors.get("memory") == memory
                  and _drop_missing(o.raw["series"].get(name))), None)
    if first is None:
        return None
    step = float(first.raw["series"].get("interval_s") or 1)
    points = [Point((i + 1) * step, 1 / v if inverse else v)
              for i, v in enumerate(first.raw["series"][name])
              if isinstance(v, (int, float)) and (v > 0 or not inverse)]
    return Curve(f"{memory} memory", tuple(points), colour=int(memory == "remote"))


def make_benchmark(results: Results, slug: str) -> Chapter:
    """Makes the chapter of experiment 7: redis-benchmark's requests a second and latencies in us; without drawings, so that `slug` is not used."""
    cells = Cells(results, BENCHMARKED)
    chapter = _make_chapter(
        results, "prabhanjan-benchmark", "redis-benchmark with local and remote memory",
        "The paper prints single outputs: LRANGE_600 with local memory, 13 444 requests a second; "
        "PING_INLINE 123 001 and PING_BULK 163 666 with remote memory. It reads a difference from LRANGE without a ratio.",
        BENCHMARK_DIFFERS)
    names = list(dict.fromkeys(m.name for o in cells.observations for m in o.metrics if m.unit == "ops/s"))
    chapter.missing = cells.describe_missing(("memory",), ()) or ([] if names else ["a metric in ops/s"])
    if chapter.missing:
        return chapter
    chapter.tables += [_make_rate_table(cells, names), *_make_latency_tables(cells, names)]
    chapter.compare(results, lambda run: _list_printed_rates(Cells(run, BENCHMARKED)))
    return chapter


def _list_printed_rates(cells: Cells) -> list[Printed]:
    load = _choose_load(cells)
    return [Printed.number(f"{name}, {memory} memory", "ops/s", float(value), cells.interval(name, memory=memory, **load))
            for name, rates in _read_rates().items() for memory, value in rates.items()]


def _list_loads(cells: Cells) -> list[dict[str, Level]]:
    """Returns the loads that were run, the paper's first."""
    factors = [f for f in ("value_bytes", "pipeline") if cells.list_levels(f)]
    found = {tuple((f, o.factors[f]) for f in factors if f in o.factors) for o in cells.observations}
    return [dict(load) for load in sorted(found)]  # the paper's values are the shortest, and its commands are not pipelined


def _choose_load(cells: Cells) -> dict[str, Level]:
    """Returns the paper's load where it was run, else the only one of ours; {} without observations."""
    return next(iter(_list_loads(cells)), {})


def _format_load(name: str, load: dict[str, Level]) -> str:
    size = [f"{load['value_bytes']} bytes"] if "value_bytes" in load else []
    return ", ".join([name, *size, *([f"pipeline {load['pipeline']}"] if load.get("pipeline", 1) != 1 else [])])


def _make_rate_table(cells: Cells, names: list[str]) -> Table:
    """Makes the table of requests a second with local and remote memory and their ratio, our row above the paper's."""
    rows, printed = [], _read_rates()
    for load in _list_loads(cells):
        for name in names:
            local, remote = (cells.values(name, memory=m, **load) for m in ("local", "remote"))
            if not (local or remote):
                continue
            rows.append((Cell(_format_load(name, load)), Cell("ours"),
                         *(format_number(cells.interval(name, memory=m, **load)) for m in ("local", "remote")),
                         format_ratio(compute_ratio(local, remote))))
            if name in printed and load == _choose_load(cells):
                rows.append(_make_printed_row(f"{name}, {PRINTED_BYTES} bytes", printed[name]))
    return Table("Experiment 7, Fig. 8.9", "Requests a second with 95 % intervals, and local / remote with Fieller's: "
                 "above 1, local is faster. Rows of the paper are labelled paper and have one run.",
                 ("command", "from", "local, ops/s", "remote, ops/s", "local / remote"), tuple(rows))


def _make_latency_tables(cells: Cells, names: list[str]) -> list[Table]:
    """Returns the table of redis-benchmark's own percentiles, in a list; none where its version prints none."""
    columns = [(m, q) for q in ("p50", "p99") for m in ("local", "remote")]
    rows = [(Cell(_format_load(name, load)), *(format_number(cells.interval(f"{name}_latency_{q}", memory=m, **load)) for m, q in columns))
            for load in _list_loads(cells) for name in names if cells.values(f"{name}_latency_p50", **load)]
    return [Table("Experiment 7, latency", "Microseconds from a request to its answer, by redis-benchmark, with 95 % "
                  "intervals; the paper prints none.", ("command", *(f"{m} {q}, us" for m, q in columns)), tuple(rows))
            ] if rows else []


def _read_rates() -> dict[str, dict[str, str]]:
    """Returns the printed requests a second, as texts, by command and memory."""
    found: dict[str, dict[str, str]] = {}
    for row in reference.read_rows("redis-benchmark-printed.csv"):
        found.setdefault(row["command"], {})[row["memory"]] = row["ops_s"]
    return found


def _make_printed_row(name: str, rates: dict[str, str]) -> tuple[Cell, ...]:
    cells = (Cell(rates[m], float(rates[m])) if m in rates else Cell(text_format.DASH) for m in ("local", "remote"))
    return (Cell(name), Cell("paper"), *cells, Cell(text_format.DASH))
