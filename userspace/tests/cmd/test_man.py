# SPDX-License-Identifier: GPL-2.0-only
"""The manual pages say what the program's own help says and more, and man and mandoc find no fault in them."""
import functools
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import building, documents

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "build" / "numaplace"
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


@functools.cache
def text_of(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def commands() -> list[str]:
    return re.findall(r"^  ([a-z-]+) .*  ", text_of(PROGRAM, "--help"), re.MULTILINE)


def words_of(page: str) -> list[str]:
    """numaplace-experiment-check-machine is `experiment check-machine`, numaplace-calibrate-machine one command."""
    words = page.removeprefix("numaplace").removeprefix("-")
    for command in sorted(commands(), key=len, reverse=True):
        if words == command or words.startswith(command + "-"):
            return [command, *filter(None, [words[len(command) + 1:]])]
    return [words] if words else []


@pytest.fixture(scope="module")
def pages() -> dict[str, Path]:
    building.build("all", "man")
    return {page.stem: page for page in (ROOT / "build" / "man").glob("*.1")}


@functools.cache
def rendered(page: Path) -> str:
    done = subprocess.run(["man", "--warnings", "-E", "ascii", "-P", "cat", "-l", page],
                          capture_output=True, text=True, check=True, env={"MANWIDTH": "300", "PATH": "/usr/bin:/bin"})
    assert done.stderr == ""
    return re.sub(r".\x08", "", done.stdout)


def test_every_command_has_a_page(pages: dict[str, Path]) -> None:
    found = commands()
    assert len(found) > 10 and "calibrate-machine" in found
    assert {f"numaplace-{command}" for command in found} <= set(pages)


@pytest.mark.parametrize("command", ["experiment", "lab"])
def test_every_command_of_a_command_has_a_page(pages: dict[str, Path], command: str) -> None:
    """argparse, which prints these, indents them by four."""
    own = re.findall(r"^    ([a-z-]+)(?:  .*)?$", text_of(PROGRAM, command, "--help"), re.MULTILINE)
    assert len(own) > 1 and ("check-machine" in own or command == "lab")
    assert {f"numaplace-{command}-{name}" for name in own} <= set(pages)


def test_pages_have_every_option(pages: dict[str, Path]) -> None:
    for name, page in sorted(pages.items()):
        words = words_of(name)
        options = set(OPTION.findall(text_of(PROGRAM, *words, "--help")))
        text = rendered(page)
        assert options and options <= set(OPTION.findall(text)), name
        assert re.search(rf"^NAME\n +{name} - \w", text, re.MULTILINE), text[:300]


def test_page_of_policies_has_their_options(pages: dict[str, Path]) -> None:
    text = rendered(pages["numaplace-policies"])
    options = re.findall(r"-o ([a-z_]+=\S+),", text_of(PROGRAM, "policies"))
    assert len(options) > 5
    for option in options:
        assert f"-o {option}," in text


SECTIONS = ("NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES", "FILES", "EXIT STATUS", "SEE ALSO")


def section(text: str, name: str) -> str:
    found = re.search(rf"^{name}\n((?: .*\n|\n)+)", text, re.MULTILINE)
    return found[1] if found else ""


def test_every_page_has_every_section(pages: dict[str, Path]) -> None:
    for name, page in sorted(pages.items()):
        text = rendered(page)
        missing = [wanted for wanted in SECTIONS if not section(text, wanted).strip()]
        assert not missing, f"{name}: add {', '.join(missing)} to userspace/man/{name}.h2m"
        assert "[>DESCRIPTION]" in (ROOT / f"userspace/man/{name}.h2m").read_text(), name


def test_options_of_the_examples_exist(pages: dict[str, Path]) -> None:
    seen = 0
    for name, page in sorted(pages.items()):
        for words, option in documents.list_options(section(rendered(page), "EXAMPLES")):
            text = text_of(PROGRAM, *words, "--help")
            assert re.search(rf"(?<![\w-]){option}(?![\w-])", text), f"{name}: {' '.join(words)} {option}"
            seen += 1
    assert seen > 40


def test_pages_that_are_named_exist(pages: dict[str, Path]) -> None:
    for name, page in sorted(pages.items()):
        named = set(re.findall(r"\b(numaplace[a-z-]*)\(1\)", section(rendered(page), "SEE ALSO")))
        assert named and named <= set(pages) and name not in named, name


@pytest.mark.skipif(not shutil.which("mandoc"), reason="no mandoc")
def test_mandoc_finds_nothing(pages: dict[str, Path]) -> None:
    done = subprocess.run(["mandoc", "-Tlint", "-W", "warning", *pages.values()], capture_output=True, text=True,
                          check=False)
    assert (done.returncode, done.stdout) == (0, "")
