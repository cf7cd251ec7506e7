# SPDX-License-Identifier: GPL-2.0-only
"""report.html: one file that opens from disk, with every figure and table inside."""

from __future__ import annotations

import json
import re
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from .. import papers
from ..figures import figures, theme
from ..policies import matrix, regret_table
from ..runs import text_format
from ..runs.results import PLACEMENT_METRICS, PLATFORM_TEXT, Results, ResultsError, read, text_of
from ..samples import pages
from ..stats.intervals import LEVEL, t_interval, welch
from . import memory_figures, observation_table
from .decisions import decisions
from .summary import notes, write_text

TEMPLATES = Path(__file__).parent / "templates"


def write(directory: str | Path) -> Path:
    """Writes report.html and figures/*.svg; returns the report's path."""
    return make(directory)[0]


def make(directory: str | Path) -> tuple[Path, list[papers.Chapter]]:
    """As write(); also returns the papers' chapters, for the page of several runs."""
    results = read(directory)
    if len(results.platforms) > 1:
        raise ResultsError(
            f"{results.directory}: holds numbers of more than one platform "
            f"({', '.join(results.platforms)}); a report is about one"
        )
    slugs = _slugs(results.workloads)
    chapters, unknown = chapters_of(results)
    memory = memory_figures.sections(results)
    for section in memory:
        observation_table.tell_marks(section.drawings, results)
    placed = placed_by_policies(results)
    sections = [_section(results, w, slugs[w]) for w in results.workloads] if placed else []
    _write_drawings(results, sections, chapters)
    page = page_of(
        "report.html",
        title=_title(results),
        question=_question(results),
        paper=text_of(results.manifest.get("paper")),
        facts=_facts(results),
        platforms=[(s, PLATFORM_TEXT[s]) for s in results.platforms],
        notes=notes(results),
        matrix=matrix.matrix(results, slugs) if placed else None,
        price=matrix.price(results) if placed else None,
        regret=regret_table.table(results) if placed else None,
        activity=regret_table.activity(results),
        nodes=results.nodes,
        chapters=chapters,
        unknown=[name for name in unknown if name not in memory_figures.SECTIONS],
        memory=memory,
        topology=memory_figures.topology(results),
        machine=results.machine or "an unnamed machine",
        everything=None if placed else _everything(results),
        sections=sections,
        all=observation_table.table(results),
        platform_line=results.platform_line,
        platform_short=results.platform_short,
        manifest=list(_flat(results.manifest)),
    )
    return write_text(results.directory / "report.html", page), chapters


def chapters_of(results: Results, *prefix: str) -> tuple[list[papers.Chapter], list[str]]:
    """The papers' chapters with whole tips, and the names that a suite presents and no chapter has."""
    chapters, unknown = papers.chapters(results, *prefix)
    for chapter in chapters:
        observation_table.tell_marks(chapter.drawings, results)
    return chapters, unknown


def placed_by_policies(results: Results) -> bool:
    """Whether policies moved tasks and pages: then each workload has a section of its own."""
    return results.policies != ["none"] or not any(o.factors for o in results.measured)


def _write_drawings(
    results: Results, sections: list[dict[str, Any]], chapters: list[papers.Chapter]
) -> None:
    folder = results.directory / "figures"
    folder.mkdir(exist_ok=True)
    for section in sections:
        write_text(folder / f"{section['slug']}.svg", section["standalone"])
    for chapter in chapters:
        for i, drawing in enumerate(chapter.drawings, 1):
            title = f"{chapter.title}: {drawing.number}"
            whole = theme.standalone([drawing.svg], title, results.platform_line)
            write_text(folder / f"{chapter.name}-{i}.svg", whole)


def _everything(results: Results) -> dict[str, Any]:
    """All means of a run by factors: one row a workload, one column a metric."""
    metrics = list(dict.fromkeys(
        (m.name, m.unit) for o in results.clean for m in o.metrics
        if m.name not in PLACEMENT_METRICS
    ))
    factors = list(dict.fromkeys(f for o in results.measured for f in o.factors))
    rows = []
    for workload in results.workloads:
        asked = [o for o in results.measured if o.workload == workload]
        clean = results.select_independent(workload)
        cells = []
        for name, _ in metrics:
            found = [v for v in (o.value(name) for o in clean) if v is not None]
            interval = t_interval(found) if found else None
            text = text_format.spread(interval) if interval else text_format.DASH
            cells.append({"text": text, "value": interval.mean if interval else None})
        rows.append({"workload": workload, "n": len(clean), "marked": sum(bool(o.marks) for o in asked),
                     "levels": [asked[0].factors.get(f, "") for f in factors], "cells": cells})
    marks = [(o.workload, o.repeat, mark) for o in results.measured for mark in o.marks]
    return {"factors": [text_format.label(f) for f in factors], "rows": rows, "marks": marks,
            "metrics": [(text_format.label(name), unit) for name, unit in metrics]}


def page_of(template: str, **values: Any) -> str:
    """A page with the report's style, script and head."""
    return _environment().get_template(template).render(
        values | {
            "level": round(100 * LEVEL),
            "light": Markup(theme.variables(False)),
            "dark": Markup(theme.variables(True)),
            "font": Markup(theme.FONT),
            "created": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        }
    )


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "clean": text_format.printable,
        "clean_lines": lambda text: text_format.printable(text, keep="\n\t"),
        "p": text_format.p_value,
        "capitalize_first": lambda text: text[:1].upper() + text[1:],
    }
    environment.globals["include_raw"] = lambda name: Markup((TEMPLATES / name).read_text())
    return environment


def slug_of(name: str) -> str:
    """A name as it may stand in a file name and an id."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:60] or "workload"


def _slugs(names: list[str]) -> dict[str, str]:
    """Different names stay different."""
    slugs: dict[str, str] = {}
    for name in names:
        slug = base = slug_of(name)
        count = 1
        while slug in slugs.values():
            count += 1
            slug = f"{base}-{count}"
        slugs[name] = slug
    return slugs


def _title(results: Results) -> str:
    return f"{results.suite} on {results.machine}" if results.machine else results.suite


def _question(results: Results) -> str:
    for key in ("question", "description", "title"):
        if isinstance(results.manifest.get(key), str):
            return results.manifest[key]
    return ""


def _facts(results: Results) -> list[tuple[str, str]]:
    manifest = results.manifest
    repeats = {o.repeat for o in results.measured}
    kernel = manifest.get("kernel")
    found = [
        ("machine", results.machine),
        ("kernel", kernel.get("release", "") if isinstance(kernel, dict) else text_of(kernel)),
        ("module", _module(manifest)),
        ("platform", ", ".join(results.platforms)),
        ("contention model", _contention_model(manifest.get("model"))),
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
    return [(name, value) for name, value in found if value]


def _module(manifest: dict[str, Any]) -> str:
    """The text of /sys/kernel/debug/numaplace/version."""
    module = manifest.get("module")
    if not isinstance(module, dict):
        return text_of(module) or ("not loaded" if "module" in manifest else "")
    version = module.get("numaplace") or module.get("version") or "loaded"
    return f"{version} (ABI {module['abi']})" if "abi" in module else str(version)


def _contention_model(model: Any) -> str:
    """That the plans used; "" where no policy needed one, or an older run does not say."""
    if not isinstance(model, dict):
        return ""
    if model.get("why"):
        return f"{model['origin']}: {model['why']}"
    if not model.get("file"):
        return text_of(model.get("origin"))
    taken = "calibrated in that boot" if model.get("calibrated") else model["origin"]
    return f"{taken}: {model['file']} (SHA-256 {model['sha256'][:12]})"


def _mean(results: Results, workload: str, policy: str, metric: str) -> float | None:
    found = figures.values(results, workload, policy, metric)
    return t_interval(found).mean if found else None


def _section(results: Results, workload: str, slug: str) -> dict[str, Any]:
    placement = figures.placement_panel(results, workload, slug)
    timing = figures.timing_panel(results, workload, slug)
    series = pages.panel(results, workload, slug)
    metrics = figures.distinct_metrics(results, workload)
    others = [m for m in results.performance_metrics(workload) if m not in metrics]
    subtitle = results.platform_line
    return {
        "name": workload,
        "about": results.about(workload),
        "slug": slug,
        "placement": Markup(placement),
        "timing": Markup(timing) if timing else "",
        "series": Markup(series) if series else "",
        "platform_line": subtitle,
        "standalone": theme.standalone([p for p in (placement, timing) if p], workload, subtitle),
        "equal": [text_format.label(name) for name, _ in others] if metrics else [],
        "metrics": [(text_format.label(name), unit) for name, unit in metrics],
        "rows": [_numbers(results, workload, policy, metrics) for policy in results.policies],
        "decisions": decisions(results, workload),
        "marks": [
            (o.policy, o.repeat, mark)
            for o in results.measured
            if o.workload == workload
            for mark in o.marks
        ],
    }


def _numbers(
    results: Results, workload: str, policy: str, metrics: list[tuple[str, str]]
) -> dict[str, Any]:
    before, after, moved = (_mean(results, workload, policy, m) for m in PLACEMENT_METRICS)
    cells = []
    for metric, _ in metrics:
        found = figures.values(results, workload, policy, metric)
        base = figures.values(results, workload, "none", metric)
        interval = t_interval(found) if found else None
        against = welch(base, found) if found and base and policy != "none" else None
        cells.append(
            {
                "text": text_format.spread(interval) if interval else text_format.DASH,
                "value": interval.mean if interval else None,
                "change": _change(against, base),
                "p": against.p if against else None,
            }
        )
    return {
        "policy": policy,
        "n": len(results.select_independent(workload, policy)),
        "before": before,
        "after": after,
        "moved": moved,
        "before_text": text_format.fraction(before),
        "after_text": text_format.fraction(after),
        "moved_text": text_format.count(moved),
        "cells": cells,
    }


def _change(against: Any, base: list[float]) -> str:
    if against is None:
        return ""
    mean = t_interval(base).mean
    return text_format.percent(against.difference / mean) if mean else text_format.number(against.difference)


def _flat(value: Any, path: str = "") -> Any:
    """The manifest as lines of a two-column table."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _flat(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and any(isinstance(v, (dict, list)) for v in value):
        for i, inner in enumerate(value):
            yield from _flat(inner, f"{path}[{i}]")
    elif isinstance(value, list):
        yield path, ", ".join(v if isinstance(v, str) else json.dumps(v) for v in value)
    else:
        yield path, value if isinstance(value, str) else json.dumps(value)
