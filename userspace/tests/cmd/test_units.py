# SPDX-License-Identifier: GPL-2.0-only
"""Sizes, rates and times may have units everywhere; a time needs one."""
import json
import os
import re
import subprocess
from argparse import ArgumentTypeError
from pathlib import Path

import pytest

from experiments.units import mib, seconds
from tests import building

ROOT = Path(__file__).resolve().parents[3]
TOOL = ROOT / "build" / "numaplace"


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    building.build("tools")


def run(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([TOOL, *map(str, words)], capture_output=True, text=True, timeout=120, check=False)


def drawn(memory: str) -> dict:
    done = run("predict", "--machine", "demo-2s", "--random", 5, "--node-memory", memory, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["random"]


def test_a_size_in_every_unit() -> None:
    same = ["8192", "8192M", "8192 MiB", "8G", "8GiB", "8 GiB", "8388608KiB", "0.0078125T"]
    assert all(drawn(size) == drawn(same[0]) for size in same[1:])
    assert drawn("16G") != drawn("8G")


@pytest.mark.parametrize("rate", ["64", "64M", "64MiB", "64MiB/s", "64 MiB/s", ".5G/s", "1/s", "512KiB/s", "1TiB/s"])
def test_a_rate(rate: str) -> None:
    # Refused for what is moved, not for how it is said.
    assert "rate" not in run("migrate", os.getpid(), "--to", "9999", "--rate", rate).stderr


@pytest.mark.parametrize("text, value", [("20", 20), ("90s", 90), ("500ms", .5), ("1.5s", 1.5), ("250us", 2.5e-4)])
def test_seconds_of_the_programs_in_python(text: str, value: float) -> None:
    assert seconds(text) == pytest.approx(value)


@pytest.mark.parametrize("text, value", [("64", 64), ("64M", 64), ("64 MiB", 64), ("2G", 2048), ("1024KiB", 1)])
def test_mib_of_the_programs_in_python(text: str, value: int) -> None:
    assert mib(text) == value


@pytest.mark.parametrize("read, text", [(seconds, "1h"), (seconds, "-1"), (seconds, ""), (seconds, "nan"),
                                        (mib, "0"), (mib, "4MB"), (mib, "1K"), (mib, "many")])
def test_what_is_none(read, text: str) -> None:
    with pytest.raises(ArgumentTypeError):
        read(text)


@pytest.mark.parametrize("words", [
    ["daemon", "--interval"], ["daemon", "--trial"], ["run", "--interval"], ["apply", "--verify"], ["apply", "--policy-timeout"],
    ["counters", "-i"], ["ps", "--sample"], ["plan", "--sample"], ["measure-penalty", "--sample"], ["top", "-i"],
    ["migrate", "--max-stall"], ["predict", "--policy-timeout"], ["policies", "--policy-timeout"]])
def test_a_time_without_a_unit_is_refused(words: list[str]) -> None:
    refuses(words, "60")


@pytest.mark.parametrize("text", ["0.5", "5."])
def test_a_broken_number_is_a_time_without_a_unit(text: str) -> None:
    refuses(["ps", "--sample"], text)


def refuses(words: list[str], text: str) -> None:
    done = run(*words, text, "1")
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(rf'numaplace: --[a-z-]+ "{re.escape(text)}" has no unit; give one, as in 5s or 200ms\n', done.stderr)


def test_no_time_needs_no_unit() -> None:
    assert run("ps", "--sample", "0", os.getpid()).returncode == run("ps", "--sample", "0.0", os.getpid()).returncode == 0


def test_no_option_takes_a_number_of_one_unit_only() -> None:
    """SIZE, RATE and TIME take units; an option that names its unit would not."""
    for command in re.findall(r"^  ([a-z-]+) ", run("--help").stdout, re.MULTILINE):
        text = run(*(["lab", "run"] if command == "lab" else [command]), "--help").stdout
        assert not re.search(r"--[a-z-]+[= ](MIB|MB|MS|SECONDS|BYTES)\b", text), command
