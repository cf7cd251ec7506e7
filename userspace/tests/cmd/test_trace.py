# SPDX-License-Identifier: GPL-2.0-only
"""numaplace trace where nothing can be traced: what it lists, where it finds it. The guest tests run the scripts."""
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import building

ROOT = Path(__file__).resolve().parents[3]
SCRIPTS = sorted((ROOT / "userspace" / "tracing").glob("*.bt"))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("root")
    subprocess.run(["make", "-s", "install", f"DESTDIR={folder}", "PREFIX=/usr"], cwd=ROOT, check=True)
    return folder


def run(tool: Path, *words: str, **kwargs) -> subprocess.CompletedProcess[str]:
    return subprocess.run([tool, *words], capture_output=True, text=True, timeout=60, check=False, **kwargs)


@pytest.mark.parametrize("words", [[], ["list"], ["--list"]])
def test_list_is_what_the_headers_say(words: list[str]) -> None:
    building.build("build/numaplace", "build/numaplace-trace")
    listed = dict(line.split(maxsplit=1) for line in run(ROOT / "build" / "numaplace", "trace", *words).stdout.splitlines())
    assert list(listed) == [path.stem for path in SCRIPTS] and len(listed) >= 6
    for path in SCRIPTS:
        assert f" * {path.name}\t{listed[path.stem]}\n" in path.read_text()


@pytest.mark.parametrize(("words", "why"), [
    (["moves"], 'no script "moves"; there are copies, faults, kernel, latency, migrations, placements'),
    (["faults", "x"], '"x" is not a process id; `numaplace ps` lists the processes'),
    (["faults", "1", "2"], "an argument is missing or one too many; see numaplace trace --help"),
    (["faults", "--for"], 'no option "--for"; see numaplace trace --help'),
    (["faults", "--"], "no command after --"),
    (["--", "true"], "a command needs the name of a script before --"),
])
def test_wrong_words(words: list[str], why: str) -> None:
    done = run(ROOT / "userspace" / "tracing" / "numaplace-trace", *words)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"numaplace: trace: {why}\n")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_every_script_says_what_it_is(path: Path) -> None:
    text = path.read_text()
    assert text.startswith("#!/usr/bin/env bpftrace\n// SPDX-License-Identifier: GPL-2.0-only\n/*\n")
    comment = text.split("*/")[0]
    assert f"bpftrace {path.name} [PID]" in comment and "\n * Example:\n" in comment
    assert "\n * Overhead:" in comment
    for probe in re.findall(r"^tracepoint:(\S+)", text, re.MULTILINE):
        assert probe in comment, probe
    assert 'printf("Tracing ' in text and "\nEND\n" in text


def test_installed_program_finds_the_installed_scripts(installed: Path) -> None:
    done = run(installed / "usr" / "bin" / "numaplace", "trace")
    assert [line.split()[0] for line in done.stdout.splitlines()] == [path.stem for path in SCRIPTS]
    assert (installed / "usr" / "share" / "man" / "man1" / "numaplace-trace.1").exists()
    assert (installed / "usr" / "share" / "bash-completion" / "completions" / "numaplace").exists()


def test_without_scripts_it_says_where_they_belong(installed: Path, tmp_path: Path) -> None:
    alone = tmp_path / "bin" / "numaplace-trace"
    alone.parent.mkdir()
    shutil.copy(installed / "usr" / "bin" / "numaplace-trace", alone)
    done = run(alone)
    assert done.returncode == 3 and "share/numaplace/tracing" in done.stderr and done.stderr.count("\n") == 1
