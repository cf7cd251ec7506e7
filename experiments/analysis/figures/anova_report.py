# SPDX-License-Identifier: GPL-2.0-only
"""What explains the variation, as the report tells it: one block for each response."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
from markupsafe import Markup

from ..runs import text_format
from ..runs.results import Results
from ..stats.frames import frame
from ..stats.linear_model import REJECT, Estimate, Model, additive_p, anova, contrasts, effects, fit, residuals
from ..stats.quantile import Slope, beside_ols
from . import diagnostics

MAX_EFFECTS = 40
MAX_CONTRASTS = 45


def analyse(
    frame: pd.DataFrame, metric: str, unit: str, factors: list[str], slug: str, *,
    blocks: tuple[str, ...] = ("repeat",), focus: str = "", base: str | None = None,
    workloads: list[str] | None = None, log: bool | None = None,
) -> dict[str, Any]:
    """Analysis of variance, effects, contrasts of `focus`, residual plots, quantile regression; of logarithms by fit's
    rule, or as `log` says."""
    told: dict[str, Any] = {
        "metric": text_format.label(metric), "unit": unit, "slug": slug, "workloads": workloads or [],
        "why_not": "", "terms": [], "effects": [], "contrasts": [], "quantile": None,
    }
    model = fit(frame, metric, factors, blocks, log)
    if isinstance(model, str):
        return told | {"why_not": model}
    told |= {"log_by_rule": log is None}
    focus = focus if focus in model.factors else ""
    tukey = additive_p(model) if model.pooled else None
    tested = not model.pooled or (tukey is not None and tukey >= REJECT)
    return told | _model(model) | {
        "tested": tested, "tukey": text_format.p_value(tukey),
        "terms": [_term(term, tested) for term in anova(model)],
        "effects": _effects(model),
        "contrasts": _contrasts(model, focus, base) if focus and tested else [],
        "not_shown": _not_shown(model, focus, base) if focus and tested else 0,
        "focus": focus,
        "residual_plot": Markup(
            diagnostics.residual_plots(residuals(model), f"{slug}-residuals", text_format.label(metric))
        ),
        "quantile": _quantile(frame, metric, unit, focus, base, model, slug),
    }


def _model(model: Model) -> dict[str, Any]:
    return {
        "model": model.formula,
        "n": int(model.fit.nobs),
        "log": model.log,
        "pooled": model.pooled,
        "few": not model.tests_tell,
        "shapiro": text_format.p_value(model.normal_p),
        "breusch": text_format.p_value(model.even_p),
        "plain_shapiro": text_format.p_value(model.plain[0]),
        "plain_breusch": text_format.p_value(model.plain[1]),
        "doubt": min(model.normal_p, model.even_p) < 0.05,
    }


def _term(term: Any, tested: bool) -> dict[str, Any]:
    return {
        "name": "error" if term.name == "Residual" else term.name,
        "sum_sq": text_format.number(term.sum_sq),
        "df": f"{term.df:g}",
        "f": text_format.number(term.f) if tested else text_format.DASH,
        "p": text_format.p_value(term.p if tested else None),
        "share": f"{100 * term.share:.1f} %",
        "raw": term,
    }


def _effects(model: Model) -> dict[str, Any]:
    """Interactions only while the list is short enough to read."""
    grand, every = effects(model)
    found = every
    if len(every) > MAX_EFFECTS:
        grand, found = effects(model, pairs=False)
    return {
        "not_shown": len(every) - min(len(found), MAX_EFFECTS),
        "grand": text_format.number(math.exp(grand.value) if model.log else grand.value, 4),
        "rows": [
            {"term": e.term, "level": e.level} | _limits(e.estimate, model.log)
            for e in found[:MAX_EFFECTS]
        ],
    }


def _contrasts(model: Model, focus: str, base: str | None) -> list[dict[str, Any]]:
    return [
        {"first": c.first, "second": c.second, "p": text_format.p_value(c.p_holm), "raw_p": c.p_holm}
        | _limits(c.estimate, model.log)
        for c in contrasts(model, focus, base)[:MAX_CONTRASTS]
    ]


def _not_shown(model: Model, focus: str, base: str | None) -> int:
    return max(0, len(contrasts(model, focus, base)) - MAX_CONTRASTS)


def _limits(e: Estimate, log: bool) -> dict[str, Any]:
    """On logarithms a difference is a ratio, told as a percentage."""
    show = (lambda v: text_format.percent(math.expm1(v))) if log else text_format.signed
    return {
        "value": show(e.value),
        "raw": e.value,
        "limits": [
            {
                "text": f"{show(low)} to {show(high)}",
                "apart": e.apart(level),
                "level": round(100 * level),
            }
            for level, (low, high) in e.limits.items()
        ],
    }


def _quantile(
    frame: pd.DataFrame, metric: str, unit: str, focus: str, base: str | None, model: Model,
    slug: str
) -> dict[str, Any] | None:
    if not focus:
        return None
    found = beside_ols(frame, metric, focus, [f for f in model.factors if f != focus], base)
    if isinstance(found, str):
        return {"why_not": found}
    return {
        "why_not": "",
        "n": found[0].n,
        "changes": [c.change for c in found],
        "plots": [
            {"change": c.change, "svg": Markup(
                diagnostics.quantile_plot(c, f"{slug}-quantiles-{i}", unit))}
            for i, c in enumerate(found)
        ],
        "rows": [_slope(c.change, s) for c in found for s in c.slopes],
    }


def _slope(change: str, s: Slope) -> dict[str, Any]:
    limits = text_format.DASH
    if s.low is not None and s.high is not None:
        limits = f"{text_format.signed(s.low)} to {text_format.signed(s.high)}"
    name = "mean (least squares)" if s.tau is None else f"{s.tau:g} quantile"
    return {"change": change, "name": name, "value": text_format.signed(s.value), "raw": s.value,
            "limits": limits}


def within_workload(results: Results, workload: str, slug: str) -> dict[str, Any] | None:
    """Policy, with the repeat as a block: every repeat is one pass over all combinations."""
    metrics = results.performance_metrics(workload)
    if not metrics or not results.select(workload):
        return None
    metric, unit = metrics[0]
    data = frame(results, [workload], metric)
    return analyse(data, metric, unit, ["policy"], f"{slug}-anova", focus="policy", base="none",
                   workloads=[workload])


def across_workloads(results: Results) -> list[dict[str, Any]]:
    """Workload x policy, for every first metric that two workloads or more share."""
    shared: dict[tuple[str, str], list[str]] = {}
    for workload in results.workloads:
        metrics = results.performance_metrics(workload)
        if metrics and results.select(workload):
            shared.setdefault(metrics[0], []).append(workload)
    return [
        analyse(frame(results, workloads, metric), metric, unit, ["workload", "policy"],
                f"across-{i}", focus="policy", base="none", workloads=workloads)
        for i, ((metric, unit), workloads) in enumerate(shared.items(), 1)
        if len(workloads) > 1
    ]
