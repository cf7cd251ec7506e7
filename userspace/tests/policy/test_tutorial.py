# SPDX-License-Identifier: GPL-2.0-only
"""Follows Documentation/tutorials/first-policy.md: its own files, its own commands, nothing else."""
import re
import subprocess
from pathlib import Path

import pytest

from tests import building, documents

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "Documentation/tutorials/first-policy.md").read_text()
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.M | re.S)
ABI = '#include "policy.h"'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder with the files that the reader saves."""
    building.build("build/numaplace")
    for _, what, text in BLOCK.findall(TEXT):
        if what.startswith("file="):
            (tmp_path / what.removeprefix("file=")).write_text(text)
    return tmp_path


def sh(command: str, folder: Path, timeout: int = 600) -> str:
    # A busy host starts an interpreter slowly.
    command = re.sub(r"^(numaplace (?:policies|predict))", r"\1 --policy-timeout 120s", command, flags=re.M)
    done = subprocess.run(["sh", "-ec", command], cwd=folder, capture_output=True, text=True,
                          timeout=timeout, check=False, env=documents.make_environment())
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def commands(what: str = "") -> list[str]:
    return [text for language, name, text in BLOCK.findall(TEXT)
            if language == "sh" and name == what]


def test_the_policy_is_short() -> None:
    codes = [text for _, what, text in BLOCK.findall(TEXT) if what.startswith("file=")]
    assert len(codes) == 2
    assert all(len([line for line in code.splitlines() if line.strip()]) <= 40 for code in codes)


def test_the_text_alone_builds_a_policy(folder: Path) -> None:
    output = "".join(sh(command, folder) for command in commands())
    assert "\ncrowded\n    spreads the pages of big tasks" in f"\n{output}"
    assert "exec:./crowded.py\n    spreads the pages of big tasks" in output
    assert output.count("-o from=0..1e+09, default 8 MiB") == 2
    printed = re.findall(r"^```\n(task sets .*?)^```$", TEXT, re.M | re.S)
    assert len(printed) == 2 and all(text in output for text in printed), "what the text shows is what is printed"
    both = [line.split()[1:] for line in printed[1].splitlines() if "crowded" in line]
    assert len(both) == 2 and both[0] == both[1]


@pytest.mark.lab
@pytest.mark.full("the text of a page; the policy itself is tested beside it")
def test_the_text_alone_tries_it_in_the_lab(folder: Path) -> None:
    for command in commands()[:2]:
        sh(command, folder)
    (command,) = commands("boot")
    output = sh(command, folder, timeout=1800)
    assert len(re.findall(r"python3 .* 0:1 1:1 .*MiB is big: spread over all nodes", output)) == 2, output
    assert re.search(r"python3 .* s  done[^;]*; \d+ MiB is big: spread over all nodes", output), output
    assert re.search(r"N0=\d+ N1=\d+", output), output


def change(folder: Path, old: str, new: str) -> subprocess.CompletedProcess[str]:
    source = folder / "crowded.c"
    assert old in source.read_text()
    source.write_text(source.read_text().replace(old, new))
    sh(commands()[0], folder)
    return subprocess.run([ROOT / "build/numaplace", "policies", "./crowded.so"], cwd=folder,
                          capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(("old", "new", "message"), [
    ("NP_POLICY_PLUGIN(crowded);", "const void *use = &crowded;", "has no symbol numaplace_plugin"),
    (ABI, f"{ABI}\n#undef NP_POLICY_ABI\n#define NP_POLICY_ABI 1", "built with the policy.h of another version"),
    (ABI, f"{ABI}\n#undef NP_SIZES\n#define NP_SIZES {{ 4096 }}",
     "built with the policy.h of another version"),
    (".def = 8,", ".def = -8,", "its option from has a default outside its range"),
    ('.summary = "spreads the pages of big tasks",', "", "lacks a name, summary"),
    (ABI, f"{ABI}\nvoid nowhere(void);\n#define np_may_hold(m, t, n) (nowhere(), true)",
     "cannot be loaded"),
])
def test_what_is_wrong_is_said(folder: Path, old: str, new: str, message: str) -> None:
    done = change(folder, old, new)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr and done.stderr.count("\n") == 1


def test_a_file_that_is_not_there(folder: Path) -> None:
    done = subprocess.run([ROOT / "build/numaplace", "policies", "./nothing.so"], cwd=folder,
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and "cannot be loaded" in done.stderr
