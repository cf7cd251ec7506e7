# SPDX-License-Identifier: GPL-2.0-only
"""The demo changes nothing in the machine's kernel unasked."""

import os
import re
import subprocess
import sys
from pathlib import Path

from experiments import as_measured
from experiments.commands.experiment import demo

ROOT = Path(__file__).resolve().parents[3]
ASK = "from experiments.commands.experiment.demo import ask_to_load_module; print('allowed:', ask_to_load_module())"


def test_the_module_is_not_loaded_where_nobody_can_be_asked() -> None:
    done = subprocess.run([sys.executable, "-c", ASK], cwd=ROOT, capture_output=True, text=True, input="y\n")
    assert done.stdout == "allowed: False\n"


def test_a_person_is_asked_and_the_default_is_no(monkeypatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    for answer, allowed in (("", False), ("n", False), ("maybe", False), ("y", True), ("YES ", True)):
        monkeypatch.setattr("builtins.input", lambda question, answer=answer: answer)
        assert demo.ask_to_load_module() is allowed


MEASURED = (ROOT / "Documentation/measured/demo.txt").read_text()
END = as_measured.find_expected_end(MEASURED)


def ends_as(end: str) -> str | None:
    output = "demo: 63 observations in 400 s\n" + end
    return as_measured.find_difference(output, MEASURED)


def test_figures_widths_and_folders_may_differ_from_those_measured() -> None:
    other = re.sub(r"(?<=\s)[+−]?[\d.]+(?=\s)", "7", END).replace("───", "─").replace("/home/you/", "/root/")
    assert other != END
    assert ends_as(other) is None


def test_words_and_lines_may_not_differ_from_those_measured() -> None:
    lines = END.splitlines(keepends=True)
    n_mass = next(line for line in lines if "n-mass" in line)
    for other in (
        END.replace("maximum-local", "maximum_local", 1),
        END.replace(n_mass, "", 1),
        END.replace(n_mass, re.sub(r"\d\.\d+ \*", "–", n_mass), 1),
        END.replace("lab-timed", "lab-functional"),
        END + "Traceback (most recent call last):\n",
        lines[-1],
    ):
        assert ends_as(other), other


def test_intervals_and_what_they_decide_may_differ() -> None:
    other = re.sub(r"\d\.\d+ [*=m](?!\w)", "9.99  ", re.sub(r"\[[^]]*\]", "[9.99, 9.99]", END))
    assert other != END and ends_as(other) is None
