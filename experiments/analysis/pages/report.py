# SPDX-License-Identifier: GPL-2.0-only
"""report.html: one file that opens from disk, with every figure and table inside."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from statistics import fmean
from typing import Any

import jinja2
from markupsafe import Markup

from .. import papers
from ..figures import figures, theme
from ..policies import matrix, regret_table
from ..runs import text_format
from ..runs.results import (
    PLACEMENT_METRICS,
    PLATFORM_TEXT,
    MetricName,
    Results,
    ResultsError,
    compute_mean,
    get_text,
    list_values,
    read_results,
)
from ..samples import pages, progress
from ..stats.intervals import LEVEL, Difference, compare_means, compute_t_interval
from . import memory_figures, observation_table
from .decisions import list_decisions
from .summary import list_notes, write_text

TEMPLATES = Path(__file__).parent / "templates"


def write_report(directory: str | Path) -> tuple[Path, list[papers.Chapter]]:
    """Writes report.html and figures/*.svg into the run's folder; returns the report's path, and the papers' chapters.

    Raises ResultsError where the run is unreadable or of more than one platform."""
    results = read_results(directory)
    if len(results.platforms) > 1:
        raise ResultsError(f"{results.directory}: holds numbers of more than one platform "
                           f"({', '.join(results.platforms)}); a report is about one")
    slugs = _make_slugs(results.workloads)
    chapters, unknown = make_chapters(results)
    memory = memory_figures.make_sections(results)
    for section in memory:
        observation_table.tell_marks(section.drawings, results)
    placed = is_placed_by_policies(results)
    sections = [_make_section(results, w, slugs[w]) for w in results.workloads] if placed else []
    _write_drawings(results, sections, chapters)
    page = build_page(
        "report.html",
        title=_make_title(results),
        question=get_text(results.manifest.get("question")),
        paper=get_text(results.manifest.get("paper")),
        facts=_list_facts(results),
        platforms=[(results.name_platform(s), PLATFORM_TEXT[s]) for s in results.platforms],
        notes=list_notes(results),
        matrix=matrix.make_matrix(results, slugs) if placed else None,
        price=matrix.make_price_table(results) if placed else None,
        regret=regret_table.make_table(results) if placed else None,
        activity=regret_table.list_activity(results),
        nodes=results.nodes,
        chapters=chapters,
        unknown=[name for name in unknown if name not in memory_figures.SECTIONS],
        memory=memory,
        topology=memory_figures.describe_topology(results),
        machine=results.machine or "an unnamed machine",
        everything=None if placed else _list_everything(results),
        sections=sections,
        all=observation_table.make_table(results),
        platform_line=results.platform_line,
        platform_short=results.platform_short,
        manifest=list(_flatten_value(results.manifest)),
    )
    return write_text(results.directory / "report.html", page), chapters


def make_chapters(results: Results, prefix: str = "paper") -> tuple[list[papers.Chapter], list[str]]:
    """Returns the papers' chapters, with counts of marked observations in their tips, and the presented names that no chapter has."""
    chapters, unknown = papers.make_chapters(results, prefix)
    for chapter in chapters:
        observation_table.tell_marks(chapter.drawings, results)
    return chapters, unknown


def is_placed_by_policies(results: Results) -> bool:
    """Checks whether policies moved tasks and pages: then each workload has a section of its own."""
    return results.policies != ["none"] or not any(o.factors for o in results.measured)


def _write_drawings(results: Results, sections: list[dict[str, Any]], chapters: list[papers.Chapter]) -> None:
    """Writes the drawings of each section of _make_section(), and each of a chapter, as SVG files into the run's folder figures/."""
    folder = results.directory / "figures"
    folder.mkdir(exist_ok=True)
    for section in sections:
        write_text(folder / f"{section['slug']}.svg", section["standalone"])
    for chapter in chapters:
        for i, drawing in enumerate(chapter.drawings, 1):
            title = f"{chapter.title}: {drawing.number}"
            whole = theme.make_standalone([drawing.svg], title, results.platform_line)
            write_text(folder / f"{chapter.name}-{i}.svg", whole)


def _list_everything(results: Results) -> dict[str, Any]:
    """Makes a table of all means of a run: a row for each workload with its levels, a column for each metric."""
    metrics = list(dict.fromkeys(
        (m.name, m.unit) for o in results.clean for m in o.metrics
        if m.name not in PLACEMENT_METRICS
    ))
    factors = list(dict.fromkeys(f for o in results.measured for f in o.factors))
    rows = []
    for workload in results.workloads:
        measured = [o for o in results.measured if o.workload == workload]
        clean = results.select_independent(workload)
        cells = []
        for name, _ in metrics:
            cells.append(_make_mean_cell(list_values(clean, name)))
        rows.append({"workload": workload, "n": len(clean), "marked": sum(bool(o.marks) for o in measured),
                     "levels": [measured[0].factors.get(f, "") for f in factors], "cells": cells})
    marks = [(o.workload, o.repeat, mark) for o in results.measured for mark in o.marks]
    return {"factors": [text_format.make_label(f) for f in factors], "rows": rows, "marks": marks,
            "metrics": [(text_format.make_label(name), unit) for name, unit in metrics]}


def _make_mean_cell(values: list[float]) -> dict[str, Any]:
    """Makes the text of a mean with its interval, and the mean to sort by: a dash and None without values."""
    if not values:
        return {"text": text_format.DASH, "value": None}
    interval = compute_t_interval(values)
    return {"text": text_format.format_spread(interval), "value": interval.mean}


def build_page(template: str, **values: Any) -> str:
    """Builds a page from a file of TEMPLATES and the values that it names, with the report's style, script and head; returns HTML."""
    return _make_environment().get_template(template).render(
        values | {
            "level": round(100 * LEVEL),
            "light": Markup(theme.list_variables(dark=False)),
            "dark": Markup(theme.list_variables(dark=True)),
            "font": Markup(theme.FONT),
            "created": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        }
    )


def _make_environment() -> jinja2.Environment:
    """Makes the environment of the templates: HTML is escaped, an unknown value is an error, and our filters are added."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "clean": text_format.make_printable,
        "clean_lines": lambda text: text_format.make_printable(text, keep="\n\t"),
        "p": text_format.format_p_value,
        "capitalize_first": lambda text: text[:1].upper() + text[1:],
    }
    environment.globals["include_raw"] = lambda name: Markup((TEMPLATES / name).read_text())
    return environment


def make_slug(name: str) -> str:
    """Makes a name fit for a file name and an id, of 60 characters at most."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:60] or "workload"


def _make_slugs(names: list[str]) -> dict[str, str]:
    """Makes a slug for each name, with a number appended where two would be equal."""
    slugs: dict[str, str] = {}
    for name in names:
        slug = base = make_slug(name)
        count = 1
        while slug in slugs.values():
            count += 1
            slug = f"{base}-{count}"
        slugs[name] = slug
    return slugs


def _make_title(results: Results) -> str:
    return f"{results.suite} on {results.machine}" if results.machine else results.suite


def _list_facts(results: Results) -> list[tuple[str, str]]:
    """Lists names and values of what is known of a run, for the head of its report; without empty ones."""
    manifest = results.manifest
    repeats = {o.repeat for o in results.measured}
    facts = [
        ("machine", results.machine),
        ("kernel", (manifest.get("kernel") or {}).get("release", "")),
        ("module", _describe_module(manifest)),
        ("platform", ", ".join(results.platforms)),
        ("contention model", _describe_contention_model(manifest.get("model"))),
        ("policies", "" if results.policies == ["none"] else ", ".join(results.policies)),
        ("repeats", str(manifest.get("repeats", len(repeats)))),
        ("observations", f"{len(results.clean)} counted of {len(results.measured)}"),
        ("boots", str(len(results.boots)) if len(results.boots) > 1 else ""),
        ("seed", str(manifest.get("seed", ""))),
        (
            "started",
            min(str(o.raw.get("started", ""))[:16].replace("T", " ") for o in results.observations),
        ),
    ]
    return [(name, value) for name, value in facts if value]


def _describe_module(manifest: dict[str, Any]) -> str:
    """Returns the module's version and ABI, 'not loaded', or '' where the manifest does not say."""
    module = manifest.get("module")
    if not module:
        return "not loaded" if "module" in manifest else ""
    return f"{module['numaplace']} (ABI {module['abi']})" if "numaplace" in module else "loaded"


def _describe_contention_model(model: Any) -> str:
    """Returns origin, file and digest of the manifest's `model`, which the plans used; '' without one, as of policies that need none."""
    if not isinstance(model, dict):
        return ""
    if model.get("why"):
        return f"{model['origin']}: {model['why']}"
    if not model.get("file"):
        return get_text(model.get("origin"))
    origin = "calibrated in that boot" if model.get("calibrated") else model["origin"]
    return f"{origin}: {model['file']} (SHA-256 {model['sha256'][:12]})"


def _make_section(results: Results, workload: str, slug: str) -> dict[str, Any]:
    """Makes what the page shows of one workload: drawings, tables of numbers, decisions and marks."""
    placement = figures.draw_placement(results, workload, slug)
    timing = figures.draw_timing(results, workload, slug)
    series, over_time = pages.draw_panel(results, workload, slug), progress.draw_progress(results, workload, slug)
    metrics = figures.list_distinct_metrics(results, workload)
    others = [m for m in results.list_performance_metrics(workload) if m not in metrics]
    subtitle = results.platform_line
    return {
        "name": workload,
        "about": results.about(workload),
        "slug": slug,
        "placement": Markup(placement),
        "timing": Markup(timing) if timing else "",
        "series": Markup(series) if series else "",
        "progress": Markup(over_time) if over_time else "",
        "platform_line": subtitle,
        "standalone": theme.make_standalone([p for p in (placement, timing) if p], workload, subtitle),
        "equal": [text_format.make_label(name) for name, _ in others] if metrics else [],
        "metrics": [(text_format.make_label(name), unit) for name, unit in metrics],
        "rows": [_list_numbers(results, workload, policy, metrics) for policy in results.policies],
        "decisions": list_decisions(results, workload),
        "marks": [
            (o.policy, o.repeat, mark)
            for o in results.measured
            if o.workload == workload
            for mark in o.marks
        ],
    }


def _list_numbers(results: Results, workload: str, policy: str, metrics: list[MetricName]) -> dict[str, Any]:
    """Makes a policy's row of a workload: locality before and after, pages moved, and for each metric mean, change and p."""
    clean, clean_base = results.select_independent(workload, policy), results.select_independent(workload, "none")
    before, after, moved = (compute_mean(clean, m) for m in PLACEMENT_METRICS)
    cells = []
    for metric, _ in metrics:
        values, base = list_values(clean, metric), list_values(clean_base, metric)
        test = compare_means(base, values) if values and base and policy != "none" else None
        cells.append(_make_mean_cell(values) | {"change": _format_change(test, base), "p": test.p if test else None})
    return {
        "policy": policy,
        "n": len(clean),
        "moved": moved,
        "before_text": text_format.format_fraction(before),
        "after_text": text_format.format_fraction(after),
        "moved_text": text_format.format_count(moved),
        "cells": cells,
    }


def _format_change(test: Difference | None, base: list[float]) -> str:
    """Formats the difference in percent of the mean of `base`, or in the metric's unit where that is 0; "" without a test."""
    if test is None:
        return ""
    mean = fmean(base)
    return text_format.format_percent(test.difference / mean) if mean else text_format.format_number(test.difference)


def _flatten_value(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yields (path, text) of each value inside a value of JSON, for a two-column table; a list of plain values is one text."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _flatten_value(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and any(isinstance(v, (dict, list)) for v in value):
        for i, inner in enumerate(value):
            yield from _flatten_value(inner, f"{path}[{i}]")
    elif isinstance(value, list):
        yield path, ", ".join(v if isinstance(v, str) else json.dumps(v) for v in value)
    else:
        yield path, value if isinstance(value, str) else json.dumps(value)
