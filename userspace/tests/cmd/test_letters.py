# SPDX-License-Identifier: GPL-2.0-only
"""A letter is short for the same long option in every command."""
import re
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from tests import building

ROOT = Path(__file__).resolve().parents[3]
TOOL = ROOT / "build" / "numaplace"
PAGE = ROOT / "Documentation/reference/command-line.md"
LETTER = re.compile(r"^ +-(\w)(?: \w+)?, --([a-z-]+)", re.MULTILINE)


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([TOOL, *words], capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def letters() -> dict[str, dict[str, set[str]]]:
    """Letter: long option: commands, from what every command's help says."""
    building.build("tools")
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    commands = re.findall(r"^  ([a-z-]+) ", run("--help").stdout, re.MULTILINE)
    assert len(commands) > 15
    for command in commands:
        for letter, name in LETTER.findall(run(command, "--help").stdout):
            found[letter][name].add(command)
    return found


def test_a_letter_has_one_meaning(letters: dict[str, dict[str, set[str]]]) -> None:
    assert len(letters) > 15 and set(letters["j"]["json"]) > {"ps", "plan", "counters"}
    assert {letter: dict(names) for letter, names in letters.items() if len(names) > 1} == {}


def test_numactl_s_letters_are_numactl_s(letters: dict[str, dict[str, set[str]]]) -> None:
    for letter, name in (("C", "cpus"), ("N", "cpunodebind"), ("m", "membind")):
        assert {"place", "run"} <= letters[letter][name]


def test_the_documentation_has_every_letter(letters: dict[str, dict[str, set[str]]]) -> None:
    table = {letter: (name, set(commands.split(", "))) for letter, name, commands in
             re.findall(r"^\| `-(\w)` \| `--([a-z-]+)` \| (.*) \|$", PAGE.read_text(), re.MULTILINE)}
    said = {letter: (name, commands) for letter, names in letters.items() for name, commands in names.items()
            if name not in ("json", "help")}
    assert table == said
