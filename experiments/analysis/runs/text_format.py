# SPDX-License-Identifier: GPL-2.0-only
"""Numbers and names as text. One format for each, for terminal, figures and HTML."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .results import PLATFORM_TEXT, is_higher_better, make_label

if TYPE_CHECKING:
    from ..stats.intervals import Interval

DASH = "–"
THIN_SPACE = "\u202f"  # between groups of three digits, as ISO 80000-1 has it


def format_number(value: float | None, digits: int = 3) -> str:
    """Formats a number with `digits` significant digits or more; with an exponent below 0.0001 and from 10^12 on."""
    if value is None:
        return DASH
    if value == 0:
        return "0"
    magnitude = math.floor(math.log10(abs(value)))
    if magnitude < -4 or magnitude > 11:
        return f"{value:.{digits - 1}e}"
    return f"{value:,.{max(0, digits - 1 - magnitude)}f}".replace(",", THIN_SPACE)


def format_count(value: float | None) -> str:
    """Formats a mean of whole things."""
    return DASH if value is None else f"{value:,.0f}".replace(",", THIN_SPACE)


def format_spread(interval: Interval) -> str:
    """Formats a mean and its half width as '12.3 ± 0.4', with two digits of the half width; from 10^7 on in millions, '839 ± 45 M'."""
    scale, unit = (1e6, " M") if abs(interval.mean) >= 1e7 else (1, "")
    mean, half_width = interval.mean / scale, (interval.half_width or 0) / scale
    if not half_width:
        return format_number(mean, 4) + unit
    decimals = min(6, max(0, 1 - math.floor(math.log10(half_width))))
    return f"{mean:,.{decimals}f} ± {half_width:,.{decimals}f}{unit}".replace(",", THIN_SPACE)


def format_fraction(value: float | None) -> str:
    """Formats a locality: 1.00 only when it is 1, as rounding up would claim too much."""
    if value is None:
        return DASH
    return f"{math.floor(value * 100 + 1e-9) / 100:.2f}"  # 100 * 0.29 is less than 29


def format_percent(value: float | None) -> str:
    if value is None:
        return DASH
    return f"{100 * value:+.1f} %".replace("-", "\u2212")


def format_tick(value: float) -> str:
    """Formats a number on an axis: no digits after the point that say nothing, millions as M."""
    for unit, size in (("G", 1e9), ("M", 1e6)):
        if abs(value) >= size:
            return format_tick(value / size) + unit
    text = format_number(value)
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def format_signed(value: float | None) -> str:
    """Formats a difference: always with its sign."""
    if value is None:
        return DASH
    return f"{'+' if value > 0 else ''}{format_number(value)}".replace("-", "\u2212")


def format_p_value(p: float | None) -> str:
    if p is None:
        return DASH
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def name_direction(unit: str) -> str:
    better = is_higher_better(unit)
    return "" if better is None else ("more is better" if better else "less is better")


def begin_sentence(name: str) -> str:
    """Returns a metric's name as prose that begins a sentence."""
    text = make_label(name)
    return text[:1].upper() + text[1:]


def format_platforms(platforms: list[str]) -> str:
    return "; ".join(f"{s}: {PLATFORM_TEXT[s]}" for s in platforms)


def make_printable(text: object, keep: str = THIN_SPACE) -> str:
    """Replaces unprintable characters but those in `keep`: a name from the measured machine may hold any character."""
    return "".join(c if c.isprintable() or c in keep else "\ufffd" for c in str(text))


def remove_grouping(text: str) -> str:
    """Returns text for a terminal: digits without the thin spaces, so that they can be searched and copied."""
    return text.replace(THIN_SPACE, "")


def shorten_text(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
