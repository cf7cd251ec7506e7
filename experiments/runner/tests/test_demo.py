# SPDX-License-Identifier: GPL-2.0-only
"""The demo changes nothing in the machine's kernel unasked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from experiments import demo

ROOT = Path(__file__).resolve().parents[3]
ASK = "from experiments.demo import may_load_module; print('allowed:', may_load_module())"


def test_the_module_is_not_loaded_where_nobody_can_be_asked() -> None:
    done = subprocess.run([sys.executable, "-c", ASK], cwd=ROOT, capture_output=True, text=True, input="y\n")
    assert done.stdout == "allowed: False\n"


def test_a_person_is_asked_and_the_default_is_no(monkeypatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    for answer, allowed in (("", False), ("n", False), ("maybe", False), ("y", True), ("YES ", True)):
        monkeypatch.setattr("builtins.input", lambda question, answer=answer: answer)
        assert demo.may_load_module() is allowed
