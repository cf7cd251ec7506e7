# SPDX-License-Identifier: GPL-2.0-only
"""What the results of both kernels say: a word for each metric, a table that can be mailed, one sentence."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..analysis.runs.results import higher_is_better
from ..analysis.stats.compare import compare

WIDTH = 75  # of a line that is quoted in a mail and still fits
SLOWER, FASTER, SAME, SMALL, UNKNOWN = "slower", "faster", "no difference found", "too small", "not tested"
NAME_WIDTH, MEAN_WIDTH, CHANGE_WIDTH, P_WIDTH = 22, 10, 23, 6


@dataclass(frozen=True)
class Verdict:
    rows: list[dict[str, Any]]
    missing: list[str] = field(default_factory=list)  # what kernel B has no value of, and A has
    notes: list[str] = field(default_factory=list)

    def having(self, word: str) -> list[dict[str, Any]]:
        return [row for row in self.rows if row["verdict"] == word]

    @property
    def regressed(self) -> bool:
        return bool(self.having(SLOWER) or self.missing)

    def sentence(self) -> str:
        slower, faster = self.having(SLOWER), self.having(FASTER)
        told = [f"{_all(rows)}: kernel B is {word} than kernel A" for word, rows in ((SLOWER, slower), (FASTER, faster)) if rows]
        if self.missing:
            told.insert(0, f"{', '.join(self.missing)}: kernel B has no result")
        if not slower and not self.missing:
            told.insert(0, "no regression found")
        return "; ".join(told)

    def as_dict(self) -> dict[str, Any]:
        return {"sentence": self.sentence(), "regressed": self.regressed, "missing": self.missing, "notes": self.notes,
                "rows": self.rows}


def of(a: Path, b: Path, responses: Sequence[str], smallest: float) -> Verdict:
    """`smallest`: the share of a mean that matters, as 0.01."""
    found = compare(a, b, in_blocks=True, smallest=smallest, metrics=responses)
    pair, = found["pairs"]
    marked = [note for note in pair["notes"] if note.endswith("not counted")]
    return Verdict([row | {"verdict": word_of(row)} for row in pair["rows"]], pair["only_in_a"],
                   marked + [f"kernel A has no result: {name}" for name in pair["only_in_b"]])


def word_of(row: dict[str, Any]) -> str:
    """A metric whose unit has no better direction is a cost, as in pages moved."""
    if row["too_small"]:
        return SMALL
    if row["p_holm"] is None:
        return UNKNOWN if row["difference"] else SAME
    if not row["significant"]:
        return SAME
    better = (row["difference"] > 0) == (higher_is_better(row["unit"]) is True)
    return FASTER if better else SLOWER


def table(verdict: Verdict) -> str:
    head = _line("workload", "kernel A", "kernel B", "change, 95 % interval", "p") + "\n" + _second("placement, metric", "verdict")
    return "\n".join([head, "-" * WIDTH, *(_row(row) for row in verdict.rows)])


def _row(row: dict[str, Any]) -> str:
    first = _line(row["workload"], number(row["mean_a"]), number(row["mean_b"]), change(row), p_value(row["p_holm"]))
    return first + "\n" + _second(f"{row['policy']}, {row['metric']}, {row['unit']}", row["verdict"])


def _line(name: str, a: str, b: str, change: str, p: str) -> str:
    """A name that is too long has a line of its own."""
    numbers = f"{a:>{MEAN_WIDTH}} {b:>{MEAN_WIDTH}}  {change:{CHANGE_WIDTH}} {p:>{P_WIDTH}}"
    name = ascii_of(name)
    first = name if len(name) <= NAME_WIDTH else f"{_cut(name, WIDTH)}\n{'':{NAME_WIDTH}}"
    return f"{first:{NAME_WIDTH}}{numbers}"


def _second(name: str, verdict: str) -> str:
    left = WIDTH - len(verdict) - 3
    return f"  {_cut(ascii_of(name), left):{left}} {verdict}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[:width - 2] + ".."


def ascii_of(text: str) -> str:
    return "".join(letter if " " <= letter <= "~" else "?" for letter in text)


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}" if 1e-3 <= abs(value) < 1e6 or not value else f"{value:.3e}"


def change(row: dict[str, Any]) -> str:
    if row["ratio"] is None:
        return "-"
    low, high = row["ratio_ci95_low"], row["ratio_ci95_high"]
    interval = "" if low is None or high is None else f" [{_percent(low)}, {_percent(high)}]"
    return f"{_percent(row['ratio'])} %{interval}"


def _percent(ratio: float) -> str:
    value = 100 * (ratio - 1)
    return f"{value:+.1f}" if abs(value) < 1000 else f"{value:+.0f}"


def p_value(p: float | None) -> str:
    return "-" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def _all(rows: Sequence[dict[str, Any]]) -> str:
    return ", ".join(f"{ascii_of(row['workload'])}{'' if row['policy'] == 'none' else ' (' + ascii_of(row['policy']) + ')'} "
                     f"{_percent(row['ratio'])} %" if row["ratio"] is not None else ascii_of(row["workload"]) for row in rows)


def mail(head: Sequence[tuple[str, str]], verdict: Verdict) -> str:
    """All of it: lines of at most WIDTH columns."""
    width = max(len(name) for name, _ in head)
    lines = ["\n".join(textwrap.wrap(ascii_of(f"{name:{width}}  {value}"), WIDTH, subsequent_indent=" " * (width + 2)))
             for name, value in head]
    notes = [line for note in verdict.notes for line in textwrap.wrap(ascii_of(f"note: {note}"), WIDTH, subsequent_indent="  ")]
    said = textwrap.fill(f"Verdict: {verdict.sentence()}.", WIDTH)
    return "\n".join([*lines, "", table(verdict), "", *notes, said])
