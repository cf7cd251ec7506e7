# SPDX-License-Identifier: GPL-2.0-only
"""What the results of both kernels say: a word for each metric, a table that can be mailed, one sentence."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scipy import stats

from ...analysis.runs.results import is_higher_better
from ...analysis.stats.compare import ALPHA, compare_runs

WIDTH = 75  # of a line that is quoted in a mail and still fits
SLOWER, FASTER, SAME, SMALL, UNKNOWN = "slower", "faster", "no difference found", "too small", "not tested"
NOT_EXCLUDED = "not excluded"
POWER = 0.9  # of the smallest change that is told
NAME_WIDTH, MEAN_WIDTH, CHANGE_WIDTH, P_WIDTH = 22, 10, 23, 6
# A row of compare_runs(): workload, policy, metric and unit, the means of both kernels, B / A and B - A with their intervals, and the test.
Row = dict[str, Any]


@dataclass(frozen=True)
class Verdict:
    rows: list[Row]  # as compare_runs() has them, each with slower_at_most, found_from and verdict, the word
    missing: list[str] = field(default_factory=list)  # what kernel B has no value of, and A has
    notes: list[str] = field(default_factory=list)

    def select_rows(self, word: str) -> list[Row]:
        return [row for row in self.rows if row["verdict"] == word]

    @property
    def regressed(self) -> bool:
        return bool(self.select_rows(SLOWER) or self.missing)

    @property
    def excluded(self) -> bool:
        """Checks whether each row's slow-down would be smaller than what was to be excluded."""
        return not self.select_rows(NOT_EXCLUDED)

    def make_sentence(self) -> str:
        """Returns in one sentence what is missing, slower, faster and not excluded."""
        slower, faster = self.select_rows(SLOWER), self.select_rows(FASTER)
        parts = [f"{_format_rows(rows)}: kernel B is {word} than kernel A" for word, rows in ((SLOWER, slower), (FASTER, faster)) if rows]
        if self.missing:
            parts.insert(0, f"{', '.join(self.missing)}: kernel B has no result")
        if not slower and not self.missing:
            parts.insert(0, "no regression found")
        not_excluded = self.select_rows(NOT_EXCLUDED)
        if not_excluded:
            parts.append(f"not excluded: {', '.join(f'{_name_row(row)} {format_slow_down(row)}' for row in not_excluded)}")
        return "; ".join(parts)

    def make_dict(self) -> dict[str, Any]:
        return {"sentence": self.make_sentence(), "regressed": self.regressed, "excluded": self.excluded, "missing": self.missing,
                "notes": self.notes, "rows": self.rows}


def compare_kernels(a: Path, b: Path, responses: Sequence[str], smallest: float, exclude: float) -> Verdict:
    """Compares the metrics `responses` of the runs in folders `a` and `b`. smallest: the share of a mean that matters, as 0.01; exclude:
    the slow-down that is to be excluded, as 0.05. ResultsError: they have nothing to compare."""
    comparison = compare_runs(a, b, in_blocks=True, smallest=smallest, metrics=responses)
    pair, = comparison["pairs"]
    marked = [note for note in pair["notes"] if note.endswith("not counted")]
    rows = [row | {"slower_at_most": compute_slower_at_most(row), "found_from": compute_found_from(row, comparison["tests"])}
            for row in pair["rows"]]
    return Verdict([row | {"verdict": choose_word(row, exclude)} for row in rows], pair["only_in_a"],
                   marked + [f"kernel A has no result: {name}" for name in pair["only_in_b"]])


def choose_word(row: Row, exclude: float) -> str:
    """Chooses the word of a row. exclude: the slow-down that is to be excluded, as 0.05. A metric whose unit has no better direction is a
    cost, as in pages moved."""
    word = SMALL if row["too_small"] else UNKNOWN if row["p_holm"] is None and row["difference"] else SAME
    if not row["too_small"] and row["p_holm"] is not None and row["significant"]:
        word = FASTER if (row["difference"] > 0) == _more_is_faster(row) else SLOWER
    limit = row["slower_at_most"]
    if word in (SAME, UNKNOWN) and row["difference"] and not row["same_as"] and (limit is None or limit >= exclude):
        return NOT_EXCLUDED
    return word


def _more_is_faster(row: Row) -> bool:
    return is_higher_better(row["unit"]) is True


def compute_slower_at_most(row: Row) -> float | None:
    """Returns the slow side of the interval of B / A, as 0.03 for 3 % of A's mean; below 0 where B is faster. None: no bound."""
    limit = row["ratio_ci95_low" if _more_is_faster(row) else "ratio_ci95_high"]
    return None if limit is None else 1 - limit if _more_is_faster(row) else limit - 1


def compute_found_from(row: Row, tests: int) -> float | None:
    """Returns the smallest change, as a share of A's mean, that such boots find in POWER of all judgements. None: nothing varies.

    (t(1 - a / 2m, n - 1) + t(POWER, n - 1)) s / sqrt(n), of the standard deviation s of the n differences within blocks and of
    m tests: NIST/SEMATECH e-Handbook, section 7.2.2.2, with the level of the first step of Holm 1979.
    """
    if not row["df"] or not row["mean_a"] or row["ci95_high"] is None:
        return None
    df = row["df"]
    error = (row["ci95_high"] - row["difference"]) / stats.t.ppf(1 - ALPHA / 2, df)  # s / sqrt(n)
    return float((stats.t.ppf(1 - ALPHA / (2 * tests), df) + stats.t.ppf(POWER, df)) * error / abs(row["mean_a"]))


def format_table(verdict: Verdict) -> str:
    head = _format_line("workload", "kernel A", "kernel B", "change, 95 % interval", "p")
    head += "\n" + _format_second_line("placement, metric", "verdict")
    return "\n".join([head, "-" * WIDTH, *(_format_row(row) for row in verdict.rows)])


def _format_row(row: Row) -> str:
    """Formats a row in three lines: means and change, verdict, then what would be found and is excluded."""
    first = _format_line(row["workload"], format_number(row["mean_a"]), format_number(row["mean_b"]),
                         format_change(row), format_p_value(row["p_holm"]))
    second = _format_second_line(f"{row['policy']}, {row['metric']}, {row['unit']}", row["verdict"])
    power = [] if row["found_from"] is None else [f"found 9 of 10 times from {_format_share(row['found_from'])}"]
    return "\n".join([first, second, f"  {'; '.join([*power, format_slow_down(row)])}"])


def format_slow_down(row: Row) -> str:
    limit = row["slower_at_most"]
    return "slower without a bound" if limit is None else f"slower by at most {_format_share(max(0, limit))}"


def _format_share(value: float) -> str:
    return f"{100 * value:.1f} %"


def _format_line(name: str, a: str, b: str, change: str, p: str) -> str:
    """Formats a row's first line of its means, change and p, as text; a name that is too long has a line of its own before it."""
    numbers = f"{a:>{MEAN_WIDTH}} {b:>{MEAN_WIDTH}}  {change:{CHANGE_WIDTH}} {p:>{P_WIDTH}}"
    name = convert_to_ascii(name)
    first = name if len(name) <= NAME_WIDTH else f"{_cut_text(name, WIDTH)}\n{'':{NAME_WIDTH}}"
    return f"{first:{NAME_WIDTH}}{numbers}"


def _format_second_line(name: str, verdict: str) -> str:
    name_width = WIDTH - len(verdict) - len("   ")  # the spaces around the name
    return f"  {_cut_text(convert_to_ascii(name), name_width):{name_width}} {verdict}"


def _cut_text(text: str, width: int) -> str:
    return text if len(text) <= width else text[:width - 2] + ".."


def convert_to_ascii(text: str) -> str:
    return "".join(letter if " " <= letter <= "~" else "?" for letter in text)


def format_number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}" if 1e-3 <= abs(value) < 1e6 or not value else f"{value:.3e}"


def format_change(row: Row) -> str:
    """Formats B / A as '+5.0 % [+4.1, +5.9]', in percent of change; '-' where there is no ratio."""
    if row["ratio"] is None:
        return "-"
    low, high = row["ratio_ci95_low"], row["ratio_ci95_high"]
    interval = "" if low is None or high is None else f" [{_format_percent(low)}, {_format_percent(high)}]"
    return f"{_format_percent(row['ratio'])} %{interval}"


def _format_percent(ratio: float) -> str:
    value = 100 * (ratio - 1)
    return f"{value:+.1f}" if abs(value) < 1000 else f"{value:+.0f}"


def format_p_value(p: float | None) -> str:
    return "-" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def _format_rows(rows: Sequence[Row]) -> str:
    return ", ".join(f"{_name_row(row)} {_format_percent(row['ratio'])} %" if row["ratio"] is not None
                     else convert_to_ascii(row["workload"]) for row in rows)


def _name_row(row: Row) -> str:
    return convert_to_ascii(row["workload"]) + ("" if row["policy"] == "none" else f" ({convert_to_ascii(row['policy'])})")


def format_mail(head: Sequence[tuple[str, str]], verdict: Verdict) -> str:
    """Formats facts, table, notes and the sentence in lines of at most WIDTH columns of ASCII. head: each fact's name and text."""
    width = max(len(name) for name, _ in head)
    lines = ["\n".join(textwrap.wrap(convert_to_ascii(f"{name:{width}}  {value}"), WIDTH, subsequent_indent=" " * (width + 2)))
             for name, value in head]
    notes = [line for note in verdict.notes for line in textwrap.wrap(convert_to_ascii(f"note: {note}"), WIDTH, subsequent_indent="  ")]
    sentence = textwrap.fill(f"Verdict: {verdict.make_sentence()}.", WIDTH)
    return "\n".join([*lines, "", format_table(verdict), "", *notes, sentence])
