# SPDX-License-Identifier: GPL-2.0-only
"""What is printed: names of any bytes, and output that cannot be written."""
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import building

ROOT = Path(__file__).resolve().parents[3]
TOOL = ROOT / "build" / "numaplace"
NAMED = """
import ctypes, sys
ctypes.CDLL(None).prctl(15, bytes.fromhex(sys.argv[1]), 0, 0, 0)
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    building.build("build/numaplace")


@contextmanager
def process_named(name: bytes) -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-IS", "-c", NAMED, name.hex()], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        assert process.stdout and process.stdout.readline() == b"ready\n"
        assert Path(f"/proc/{process.pid}/comm").read_bytes() == name + b"\n"
        yield process.pid


def run(*words: object, **kwargs) -> subprocess.CompletedProcess:
    kwargs.setdefault("stdout", subprocess.PIPE)
    words = tuple(word if isinstance(word, bytes) else str(word) for word in words)
    return subprocess.run([TOOL, *words], stderr=subprocess.PIPE, timeout=120, check=False, **kwargs)


def test_a_name_gives_the_terminal_no_orders(tmp_path: Path) -> None:
    environment = os.environ | {"XDG_RUNTIME_DIR": str(tmp_path)}
    with process_named(b"a\x1bc\nb\xc2\x9b2J") as pid:
        shown = run("ps", "-s", "0", pid).stdout
        assert b" a?c b??2J " in shown and b"\x1b" not in shown and b"\xc2\x9b" not in shown, shown
        placed = run("place", pid, "--cpus", "0", "--engine", "syscall", env=environment).stdout
        assert placed.startswith(b"placed %d (a?c b??2J), " % pid) and placed.count(b"\n") == 1, placed
        assert run("restore", pid, env=environment).returncode == 0


def test_a_name_that_is_not_utf8_keeps_the_result(tmp_path: Path) -> None:
    """The kernel cuts names at 15 bytes: here in the middle of the last character."""
    environment = os.environ | {"XDG_RUNTIME_DIR": str(tmp_path)}
    with process_named("fourteen bytesä".encode()[:15]) as pid:
        answer = json.loads(run("place", pid, "--cpus", "0", "--engine", "syscall", "--json", env=environment).stdout)
        assert (answer["pid"], answer["cpus"], answer["comm"]) == (pid, "0", "fourteen bytes?")
        assert run("restore", pid, "--json", env=environment).returncode == 0


@pytest.mark.parametrize("words", [["ps", b"\xc3"], ["place", b"\xc3"], ["plan", "--policy", b"\xc3"],
                                   ["measure-penalty", "--node", b"\xc3", "--task", "true"], ["restore", b"\xc3"]])
def test_errors_quote_words_that_are_not_utf8(words: list) -> None:
    done = run(*words, "--json")
    assert (done.returncode, done.stdout) == (2, b"") and b"?" in done.stderr and b"\xc3" not in done.stderr, done


COMMANDS = [["--help"], ["--version"], ["topology"], ["topology", "--json"], ["ps"], ["ps", "--json", "-s", "0"],
            ["policies"], ["policies", "--json"], ["counters", "--table"], ["machine", "demo-2s"], ["files", "--help"],
            ["predict", "--machine", "demo-2s", "--random", "2"], ["trace"]]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_output_that_cannot_be_written_is_an_error(words: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = run(*words, stdout=full)
    assert done.returncode == 1, done
    # ps may have remarked before on processes that it left out
    said = [line for line in done.stderr.splitlines() if b"standard output" in line]
    assert len(said) == 1 and said[0].startswith(b"numaplace: standard output cannot be written"), done


def test_output_that_is_closed_is_an_error_where_there_is_some() -> None:
    done = run("topology", stdout=None, preexec_fn=lambda: os.close(1))
    assert done.returncode == 1 and done.stderr == b"numaplace: standard output cannot be written: Bad file descriptor\n"
    done = run("ps", "--no-such-option", stdout=None, preexec_fn=lambda: os.close(1))
    assert done.returncode == 2 and done.stderr.count(b"\n") == 1
