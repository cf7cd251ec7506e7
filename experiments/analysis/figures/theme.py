# SPDX-License-Identifier: GPL-2.0-only
"""Colours for light and dark, and the way from a matplotlib figure to a small SVG in them.

matplotlib writes the light colours; `make_inline` replaces them by CSS variables, so that one SVG serves both themes, screen
and paper.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..runs.text_format import THIN_SPACE, make_printable

# Node colours: Okabe and Ito's palette, which stays apart under colour blindness. (light, dark)
_COLOURS = {
    "ink": ("#1c2127", "#e7eaee"),
    "muted": ("#5b6570", "#a3adb8"),
    "line": ("#d5dae0", "#39424c"),
    "surface": ("#ffffff", "#15191e"),
    "node0": ("#0072b2", "#4aa3df"),
    "node1": ("#e69f00", "#f0b429"),
    "node2": ("#009e73", "#2fbf95"),
    "node3": ("#cc79a7", "#dc98bd"),
    "node4": ("#d55e00", "#f08344"),
    "node5": ("#7b68b5", "#a595dd"),
    "node6": ("#8a8d00", "#b9bc2f"),
    "node7": ("#6f7780", "#98a1aa"),
    "on_node": ("#10151a", "#10151a"),  # text on a node's colour
}
NODES = 8
LINES = THIN_SPACE + "\n"  # what a tip has beside printable characters
_UNUSED_IDS = "figure|axes|patch|line2d|text|matplotlib|xtick|ytick|collection"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
SETTINGS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "numaplace",
    "font.size": 9.5,
    "text.parse_math": False,
    "axes.linewidth": 0.8,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "path.simplify": True,
}


def get_colour(name: str) -> str:
    """Returns the light colour, to give to matplotlib."""
    light, _ = _COLOURS[name]
    return light


def get_node_colour(node: int | None) -> str:
    return get_colour("muted" if node is None else f"node{node % NODES}")


def name_text_colour(node: int | None) -> str:
    """Returns the name of the colour of text on a node's colour."""
    return "on_node" if node is not None and node % NODES else "surface"


def list_variables(dark: bool) -> str:
    """Returns the declarations of one theme, for a style sheet."""
    return " ".join(f"--{name.replace('_', '-')}: {in_dark if dark else in_light};" for name, (in_light, in_dark) in _COLOURS.items())


@dataclass(frozen=True)
class Tip:
    """Holds what a pointer at a place of the data is told, and the ids of the page that have more of it."""

    x: float
    y: float
    text: str
    more: str = ""


def make_inline(figure: Figure, prefix: str, title: str, description: str,
                tips: Sequence[tuple[Axes, Sequence[Tip]]] = (), log: Callable[[], None] | None = None) -> str:
    """Makes an <svg> element for HTML: unique ids, theme colours, a title and a description.

    `prefix` begins the ids. `log` turns the figure's axes logarithmic: then the element holds both, and the page shows one of them.
    """
    svg = _make_svg(figure, prefix, tips)
    if log:
        log()
        body = r"(<svg[^>]*>)(.*)</svg>"
        other = re.search(body, _make_svg(figure, f"{prefix}-log", tips), re.S)[2]
        svg = re.sub(body, lambda m: f'{m[1]}<g class="linear">{m[2]}</g><g class="log" display="none">{other}</g></svg>',
                     svg, count=1, flags=re.S)
    labels = (
        f'<title id="{prefix}-title">{escape(make_printable(title))}</title>'
        f'<desc id="{prefix}-desc">{escape(make_printable(description))}</desc>'
    )
    head = f'<svg class="chart" role="img" aria-labelledby="{prefix}-title {prefix}-desc" '
    svg = re.sub(r"<svg ", head, svg, count=1)
    return re.sub(r"(<svg[^>]*>)", lambda m: m.group(1) + labels, svg, count=1).strip()


def _make_svg(figure: Figure, prefix: str, tips: Sequence[tuple[Axes, Sequence[Tip]]]) -> str:
    """Writes a figure as an <svg> element with ids that begin with `prefix`, colours by CSS variables, and the targets of its tips."""
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r"<style[^>]*>.*?</style>", "", svg, flags=re.S)
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.S)
    svg = re.sub(rf'\bid="(?:{_UNUSED_IDS})[^"]*"', "", svg)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}-", svg)
    svg = re.sub(r"'DejaVu Sans'[^;\"]*", "var(--font)", svg)
    for name, (light, _) in _COLOURS.items():
        svg = svg.replace(light, f"var(--{name.replace('_', '-')})")
    svg = re.sub(r' (?:width|height)="[\d.]+pt"', "", svg, count=2)
    svg = re.sub(r"\n\s*", "\n", svg)
    return svg.replace("</svg>", _make_targets(figure, tips) + "</svg>")


def _make_targets(figure: Figure, tips: Sequence[tuple[Axes, Sequence[Tip]]]) -> str:
    """Makes transparent circles at the tips' places, whose titles a browser shows without a script; returns them as SVG text."""
    # 72: points of SVG in an inch
    circles, scale, height = [], 72 / figure.dpi, figure.get_size_inches()[1] * 72
    for axes, points in tips:
        for tip in points:
            x, y = axes.transData.transform((tip.x, tip.y)) * scale
            if not (math.isfinite(x) and math.isfinite(y)):
                continue
            more = f' data-more="{escape(tip.more)}"' if tip.more else ""
            circles.append(f'<circle class="tip" cx="{x:.1f}" cy="{height - y:.1f}" r="6"{more} fill="transparent">'
                         f"<title>{escape(make_printable(tip.text, keep=LINES))}</title></circle>")
    return "\n".join(circles)


def make_standalone(panels: list[str], title: str, subtitle: str) -> str:
    """Makes one SVG file from panels (<svg> elements) side by side, with a title and colours for light and dark."""
    sizes = [
        tuple(map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', p).groups())) for p in panels
    ]
    gap = 24  # points, around each panel
    top, title, subtitle = gap + 44, escape(make_printable(title)), escape(make_printable(subtitle))
    width = sum(w for w, _ in sizes) + gap * (len(panels) + 1)
    height = max(h for _, h in sizes) + top + gap
    parts, x = [], gap
    for panel, (w, h) in zip(panels, sizes):
        place = f'<svg x="{x:g}" y="{top:g}" width="{w:g}" height="{h:g}" '
        parts.append(panel.replace("<svg ", place, 1))
        x += w + gap
    return f"""<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" \
viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}">
<title>{title}</title>
<style>:root {{ --font: {FONT}; {list_variables(dark=False)} }}
@media (prefers-color-scheme: dark) {{ :root {{ {list_variables(dark=True)} }} }}
svg {{ stroke-linejoin: round; stroke-linecap: butt; }}
.title {{ font: 600 15px var(--font); fill: var(--ink); }}
.subtitle {{ font: 10px var(--font); fill: var(--muted); }}</style>
<rect width="100%" height="100%" style="fill: var(--surface)"/>
<text class="title" x="{gap:g}" y="{gap + 10:g}">{title}</text>
<text class="subtitle" x="{gap:g}" y="{gap + 28:g}">{subtitle}</text>
{chr(10).join(parts)}
</svg>
"""
