# SPDX-License-Identifier: GPL-2.0-only
"""numaplace trace where nothing can be traced: what it lists, where it finds it. The guest tests run the scripts."""
from __future__ import annotations

import json
import re
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


def test_list_is_what_the_headers_say(program: str = "build/asan/numaplace") -> None:
    building.build(program)
    listed = dict(line.split(maxsplit=1) for line in run(ROOT / program, "trace").stdout.splitlines())
    assert list(listed) == [path.stem for path in SCRIPTS] and len(listed) >= 6
    for path in SCRIPTS:
        assert f" * {path.name}\t{listed[path.stem]}\n" in path.read_text()
    scripts = json.loads(run(ROOT / program, "trace", "list", "--json").stdout)["scripts"]
    assert {s["name"]: s["summary"] for s in scripts} == listed
    assert [Path(s["path"]).resolve() for s in scripts] == SCRIPTS


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
    tool = installed / "usr" / "bin" / "numaplace"
    scripts = json.loads(run(tool, "trace", "--json").stdout)["scripts"]
    assert [Path(s["path"]).resolve() for s in scripts] == [
        installed / "usr" / "share" / "numaplace" / "tracing" / path.name for path in SCRIPTS]
    assert (installed / "usr" / "share" / "man" / "man1" / "numaplace-trace.1").exists()
    assert (installed / "usr" / "share" / "bash-completion" / "completions" / "numaplace").exists()


def test_without_scripts_it_says_where_they_belong(installed: Path, tmp_path: Path) -> None:
    alone = tmp_path / "bin" / "numaplace"
    alone.parent.mkdir()
    alone.write_bytes((installed / "usr" / "bin" / "numaplace").read_bytes())
    alone.chmod(0o755)
    done = run(alone, "trace")
    assert done.returncode == 3 and "share/numaplace/tracing" in done.stderr and done.stderr.count("\n") == 1
