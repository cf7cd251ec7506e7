# SPDX-License-Identifier: GPL-2.0-only
"""One state file, written from several pid namespaces: each restores what it placed itself. Root of a user namespace."""
import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import building
from userspace.tests.own_run import FOLDER, own_run  # noqa: F401

ROOT = Path(__file__).resolve().parents[3]
TOOL = ROOT / "build" / "numaplace"
INSIDE = ("unshare", "-pf", "--kill-child", "--mount-proc")
OWN = os.stat("/proc/self/ns/pid").st_ino

pytestmark = [
    pytest.mark.usefixtures("own_run"),
    pytest.mark.skipif(Path("/sys/module/numaplace").exists(), reason="the module keeps what it placed"),
    pytest.mark.skipif(os.geteuid() != 0 or len(os.sched_getaffinity(0)) < 2
                       or subprocess.run([*INSIDE, "true"], capture_output=True, check=False).returncode != 0,
                       reason="makes pid namespaces, as root, and needs two CPUs")]


@pytest.fixture(name="sleeper")
def fixture_sleeper() -> Iterator[subprocess.Popen]:
    building.build("build/numaplace")
    with subprocess.Popen(["sleep", "300"]) as process:
        yield process
        process.kill()


def run(*words: object) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout + done.stderr


def records() -> list[dict]:
    head, *appended = (FOLDER / "state.json").read_text().split("\n}\n", 1)
    return json.loads(head + "}" * bool(appended))["threads"] + [json.loads(line) for line in "".join(appended).splitlines()]


@pytest.mark.parametrize("words", [("restore", "--all"), ("place", "1", "--engine", "syscall", "--cpus")])
def test_another_namespace_leaves_a_record_alone(sleeper: subprocess.Popen, words: tuple[str, ...]) -> None:
    before = os.sched_getaffinity(sleeper.pid)
    cpu = min(before)
    run(TOOL, "place", sleeper.pid, "--engine", "syscall", "--cpus", cpu)
    said = run(*INSIDE, TOOL, *words, *([cpu] if words[0] == "place" else []))
    if words[0] == "restore":
        assert f"1 placement belongs to pid namespace {OWN}: restore it there" in said
    assert os.sched_getaffinity(sleeper.pid) == {cpu}
    assert "restored 1 placement\n" in run(TOOL, "restore", sleeper.pid)
    assert os.sched_getaffinity(sleeper.pid) == before


def test_what_a_namespace_placed_is_restored_there(sleeper: subprocess.Popen) -> None:
    """The number that the process has inside is that of another one outside."""
    (FOLDER / "state.json").unlink(missing_ok=True)
    cpu = min(os.sched_getaffinity(sleeper.pid))
    script = (f"sleep 300 & {TOOL} place $! --engine syscall --cpus {cpu} && echo placed && read go && {TOOL} restore $!;"
              "taskset -pc $!; kill $!")
    with subprocess.Popen([*INSIDE, "sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as inside:
        assert inside.stdin and inside.stdout
        while inside.stdout.readline() != "placed\n":
            assert inside.poll() is None
            time.sleep(0.01)
        (record,) = records()
        assert f"1 placement belongs to pid namespace {record['pid_namespace']}: restore it there" in run(TOOL, "restore", "--all")
        said, _ = inside.communicate("go\n", timeout=60)
    assert "restored 1 placement\n" in said
    assert f"affinity list: {cpu}\n" not in said


def test_root_of_a_user_namespace_is_told_of_it() -> None:
    building.build("build/numaplace")
    with subprocess.Popen(["sleep", "300"], user=65534, group=65534, extra_groups=[]) as other:
        try:
            done = subprocess.run(["unshare", "-Ur", TOOL, "place", str(other.pid), "--engine", "syscall", "--cpus",
                                   str(min(os.sched_getaffinity(0)))], capture_output=True, text=True, timeout=60, check=False)
        finally:
            other.kill()
    assert done.returncode == 1
    assert done.stderr == (f"numaplace: not permitted to change the CPUs of process {other.pid} of another user namespace; "
                           "run as root of that namespace or of the host\n")
