# SPDX-License-Identifier: GPL-2.0-only
"""The page of `experiment compare A B.. --html`: ratios with their intervals, and every number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
from markupsafe import Markup
from matplotlib.figure import Figure

from ..figures import theme
from ..runs import text_format
from ..stats.compare import Comparison, Pair, Row
from . import report, text_table
from .summary import write_text

ROW_IN, WIDTH_IN = 0.21, 7.2
MAX_ROWS = 80


def write_page(compared: Comparison, path: Path) -> Path:
    """Writes the HTML page of a comparison to `path`, and returns the path."""
    parts = [_make_part(pair, f"pair{i}") for i, pair in enumerate(compared["pairs"], 1)]
    platforms = sorted({pair[side]["platform"] for pair in compared["pairs"] for side in "ab"})
    runs = len(parts) + 1
    count = {2: "Two", 3: "Three", 4: "Four"}.get(runs, runs)
    page = report.build_page(
        "compare.html", title=f"{count} runs side by side", parts=parts, found=compared, tests=compared["tests"],
        platform=text_format.format_platforms(platforms), test=text_table.TESTS[compared["in_blocks"]],
        significant=sum(bool(row["significant"]) for pair in compared["pairs"] for row in pair["rows"]),
    )
    return write_text(Path(path), page)


def _make_part(pair: Pair, slug: str) -> dict[str, Any]:
    """Makes what the page shows of one pair of runs: the rows with a test or a difference, and a plot of up to MAX_ROWS of them.

    `slug` begins the ids of the part."""
    rows = [row for row in pair["rows"] if row["p"] is not None or row["difference"]]
    drawn, left_out = _choose_drawn(rows)
    return {"name": slug, "pair": pair, "rows": list(map(_format_row, rows)), "drawn": len(drawn), "left_out": left_out,
            "plot": Markup(_draw_forest(drawn, slug)) if drawn else "", "equal": len(pair["rows"]) - len(rows)}


def _choose_drawn(rows: list[Row]) -> tuple[list[Row], bool]:
    """Chooses the rows with an interval and a ratio above 0; of more than MAX_ROWS, those of the smallest p: then others are left out."""
    known = [row for row in rows if row["ratio_ci95_low"] is not None and row["ratio"] > 0]
    if len(known) > MAX_ROWS:
        known = sorted(known, key=lambda row: row["p_holm"] if row["p_holm"] is not None else 1)
    return known[:MAX_ROWS], len(known) > MAX_ROWS


def _format_label(row: Row) -> str:
    policy = "" if row["policy"] == "none" else f", {row['policy']}"
    return text_format.make_printable(f"{row['workload']}{policy}: {text_format.make_label(row['metric'])}")


def _draw_forest(rows: list[Row], slug: str) -> str:
    """Draws a line a row: b / a with Fieller's interval, filled where significant after Holm; returns an <svg> element."""
    with matplotlib.rc_context(theme.SETTINGS):
        figure = Figure((WIDTH_IN, 0.7 + ROW_IN * len(rows)), layout="constrained")
        axes = figure.subplots()
        axes.axvline(1, color=theme.get_colour("muted"), linewidth=0.9)
        for y, row in enumerate(rows):
            hue = theme.get_node_colour(4 if row["significant"] else 0)
            axes.plot([row["ratio_ci95_low"], row["ratio_ci95_high"]], [y, y], "-", color=hue,
                      linewidth=1.6)
            axes.plot([row["ratio"]], [y], "o", markersize=5, color=hue,
                      markerfacecolor=hue if row["significant"] else "none")
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_yticks(range(len(rows)), [text_format.shorten_text(_format_label(row), 58) for row in rows])
        axes.xaxis.set_major_formatter(lambda value, _: text_format.format_tick(value))
        axes.tick_params(labelsize=8.5, colors=theme.get_colour("muted"), length=0)
        axes.set_xlabel("b / a", size=8.5, color=theme.get_colour("muted"))
        axes.grid(axis="x", color=theme.get_colour("line"), linewidth=0.6)
        axes.set_axisbelow(True)
        for spine in axes.spines.values():
            spine.set(visible=False)
        description = "; ".join(f"{_format_label(row)} {text_format.format_number(row['ratio'])}" for row in rows)
        return theme.make_inline(figure, f"forest-{slug}", "Ratios of means, b / a", description)


def _format_row(row: Row) -> dict[str, Any]:
    """Formats the numbers of a row for the page's table, by column; "raw" is the row itself."""
    def format_limits(key: str) -> str:
        low, high = row[f"{key}_low"], row[f"{key}_high"]
        if key == "ratio_ci95" and low is not None and low <= 0:
            return "unbounded"  # a mean that is not different from 0 has no ratio
        return "" if low is None else f"{text_format.format_number(low)} to {text_format.format_number(high)}".replace("-", "−")

    return {
        "raw": row,
        "label": text_format.make_label(row["metric"]),
        "a": text_format.format_number(row["mean_a"], 4), "b": text_format.format_number(row["mean_b"], 4),
        "ratio": text_format.format_number(row["ratio"]), "ratio_limits": format_limits("ratio_ci95"),
        "difference": text_format.format_signed(row["difference"]), "limits": format_limits("ci95"),
        "p": text_format.format_p_value(row["p"]), "p_holm": text_format.format_p_value(row["p_holm"]),
    }
