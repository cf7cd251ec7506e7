# SPDX-License-Identifier: GPL-2.0-only
"""Messages about a boot that failed."""

import re

import pytest

from experiments.lab.boot import GUEST
from experiments.lab.console import describe_step

STEPS = re.findall(r"^\s*step (\w+)$", GUEST.read_text(encoding="utf-8"), re.MULTILINE)


def test_each_step_of_the_guest_has_words_of_its_own(tmp_path):
    words = {step: describe_step(tmp_path, step) for step in [*STEPS, ""]}
    assert len(STEPS) == 4
    assert len(set(words.values())) == len(words), words
    assert words["simulation"] == "loading the simulation's module failed"


@pytest.mark.parametrize(("console", "words"), [
    ("", "QEMU did not start"),
    ("[    0.000000] Linux version 6.12", "the kernel did not start"),
    ("[    9.1] Run /init as init process\n", "mounting the root file system failed"),
])
def test_before_the_first_step_the_console_tells(tmp_path, console, words):
    (tmp_path / "console").write_text(console, encoding="utf-8")
    assert describe_step(tmp_path, "") == words
