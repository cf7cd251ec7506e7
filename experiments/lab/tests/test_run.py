# SPDX-License-Identifier: GPL-2.0-only
"""numaplace lab run, as a user sees it: real boots, real signals."""

import errno
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from experiments.lab import boot, cli, kernels, machine, qemu, qemu_program
from experiments.lab.tests.starts import remove_starts
from experiments.paths import HERE, cache
from tests.waiting import eventually, has_ended

TOP = HERE.code
SERIES = kernels.DEFAULT_SERIES


def build_lab_words(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "experiments.lab", *arguments]


def run_in_lab(*command: str, options: tuple[str, ...] = ("--functional", "--no-module"), env: dict | None = None,
               cwd: Path = TOP) -> subprocess.CompletedProcess:
    return subprocess.run(build_lab_words("run", "--machine", "demo-2s", *options, "--", *command), cwd=cwd,
                          env=os.environ | {"PYTHONPATH": str(TOP)} | (env or {}),
                          capture_output=True, text=True, check=False, timeout=300)


def check_one_line(text: str) -> str:
    assert text.count("\n") == 1, text
    return text.strip()


# What needs no boot

def test_list_names_the_machines():
    listed = subprocess.run(build_lab_words("list", "--json"), cwd=TOP, capture_output=True, text=True, check=True)
    machines = {entry["name"]: entry for entry in json.loads(listed.stdout)["machines"]}
    assert machines["demo-2s"]["cpus"] == 4
    assert machines["demo-2s"]["distances"] == [[10, 21], [21, 10]]


def test_list_says_what_a_machine_is_for_and_that_shapes_are_machines():
    *listed, last = subprocess.run(build_lab_words("list"), cwd=TOP, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(listed) == len(machine.names()) and all(found.purpose for found in machine.list_machines())
    demo = next(line for line in listed if line.startswith("demo-2s "))
    assert re.fullmatch(r"demo-2s +first steps +2 nodes, 4 CPUs, 2048 MiB: .+", demo)
    assert machine.find(re.findall(r"\S*\dx\d\S*", last)[-1]).nodes[2].cpus == []


@pytest.mark.parametrize(("options", "status", "message"), [
    (("--kernel", "5.4"), 2, "there is no kernel series '5.4': known are 6.1, 6.12"),
    (("--timeout", "soon"), 2, "--timeout"),
    (("--module", "no.ko"), 2, "there is no module file 'no.ko'"),
    (("--console", "no/such/file"), 2, "the console cannot be written to 'no/such/file'"),
    (("--machine", "nope"), 2, "there is no machine 'nope'"),
])
def test_wrong_usage_is_one_line(options, status, message):
    done = run_in_lab("true", options=("--functional", *options))
    assert done.returncode == status
    assert message in check_one_line(done.stderr)


def test_missing_qemu_is_one_line(tmp_path):
    for name in ("sh", "env", "setpriv"):
        (tmp_path / name).symlink_to(shutil.which(name))
    (tmp_path / "numaplace").mkdir()
    (tmp_path / "numaplace/kernels").symlink_to(cache() / "kernels")
    done = run_in_lab("true", env={"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)})
    assert done.returncode == 3
    assert "qemu-system-x86_64 is not installed" in check_one_line(done.stderr)


def test_missing_kernel_is_one_line(tmp_path):
    done = run_in_lab("true", env={"XDG_CACHE_HOME": str(tmp_path)})
    assert done.returncode == 3
    assert f"kernel {SERIES} is not in {tmp_path}" in check_one_line(done.stderr)


def test_signal_before_the_output_is_read(tmp_path, monkeypatch):
    @contextmanager
    def interrupted(*_):
        raise boot.Ended(signal.SIGINT)
        yield

    monkeypatch.setattr(boot, "run_qemu", interrupted)
    with pytest.raises(boot.Ended):
        boot.boot_machine(boot.Job(None, None, [], None, None), ["qemu", "-cpu", "max"], qemu.Files(tmp_path), lambda: None)


# What boots

def read_name(pid: str) -> str:
    """Reads the name of a process; "" where it has ended since it was listed."""
    try:
        return Path(f"/proc/{pid}/comm").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def wait_for_qemu(parent: int, limit: float = 60) -> int:
    """Returns the QEMU that a lab process started, once it runs."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        for child in children:
            if read_name(child).startswith("qemu-system"):
                return int(child)
        time.sleep(0.05)
    raise AssertionError("no QEMU was started")


@pytest.mark.lab
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_signal_leaves_no_qemu_behind(number):
    started = subprocess.Popen(build_lab_words("run", "--machine", "demo-2s", "--functional", "--no-module", "--", "sleep", "99"),
                               cwd=TOP, stderr=subprocess.PIPE, text=True)
    machine = wait_for_qemu(started.pid)
    started.send_signal(number)
    status = started.wait(60)
    assert status == (-number if number == signal.SIGKILL else 128 + number)
    assert eventually(lambda: has_ended(machine), 60)
    assert started.stderr.read() == ""


@pytest.mark.parametrize("said", ["qemu-system-x86_64: -plugin: invalid option",
                                  "qemu-system-x86_64: Could not load plugin plugin.so: file too short"])
def test_qemu_without_plugins_is_refused_in_one_line(tmp_path, said):
    fake = tmp_path / "qemu-system-x86_64"
    fake.write_text(f"#!/bin/sh\n[ \"$1\" = --version ] && exec {qemu_program.find()} --version\n"
                    f"echo '{said}' >&2\nexit 1\n")
    fake.chmod(0o755)
    done = run_in_lab("true", options=("--no-module",), env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert done.returncode == 3, done.stderr
    assert "cannot be simulated here: " + said in check_one_line(done.stderr)


@pytest.mark.lab
@pytest.mark.full("two boots for a fault of QEMU")
def test_qemu_that_crashes_before_the_command_is_started_again():
    with subprocess.Popen(build_lab_words("run", "--machine", "demo-2s", "--functional", "--no-module", "--", "echo", "there"),
                          cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
        os.kill(wait_for_qemu(started.pid), signal.SIGSEGV)
        out, errors = started.communicate(timeout=200)
    assert started.returncode == 0, errors
    assert out == "there\n"


@pytest.mark.lab
def test_time_limit_ends_the_machine():
    started = time.monotonic()
    done = run_in_lab("sleep", "99", options=("--functional", "--no-module", "--timeout", "2s"))
    assert time.monotonic() - started < 99, "the command did not come to its own end"
    assert done.returncode == 124
    assert re.search(r"time limit of 2 s, in (its boot after '.*'|the step '\w+'): give more", check_one_line(done.stderr))


@pytest.mark.lab
def test_output_status_and_place_of_a_command(tmp_path):
    script = "\n".join((
        "echo to-out; echo to-err >&2; echo reopened >/dev/stdout",
        "test ! -s /dev/stdin || echo input",
        "touch made-in-the-machine",
        "echo $(id -u) $(pwd) $(cat /proc/sys/kernel/numa_balancing) $(cat /proc/sys/kernel/tainted)",
        "grep -o numaplace_lab=[^\\ ]* /proc/cmdline",
        "grep -cE '^/dev/root / 9p .*(loose|cache=0xf)' /proc/mounts",  # is kept once read
        "ls -d /sys/kernel/debug/sched",
        "cat /sys/devices/system/node/node*/cpulist /sys/devices/system/node/node*/distance",
        "exit 37"))
    done = run_in_lab("sh", "-c", script, cwd=tmp_path)
    assert done.returncode == 37, done.stderr
    assert remove_starts(done.stderr) == "to-err\n"
    assert done.stdout.splitlines() == [
        "to-out", "reopened", f"0 {tmp_path} 0 0", "numaplace_lab=demo-2s,functional", "1",
        "/sys/kernel/debug/sched", "0-1", "2-3", "10 21", "21 10"]
    assert (tmp_path / "made-in-the-machine").exists()


@pytest.mark.lab
@pytest.mark.parametrize("options", [(), ("--no-snapshot",)])
def test_standard_input_arrives_with_its_end(options):
    done = subprocess.run(build_lab_words("run", "--machine", "demo-2s", "--functional", "--no-module", *options, "--", "cat"), cwd=TOP,
                          input="a\nb\n", capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout) == (0, "a\nb\n"), done.stderr


@pytest.mark.lab
@pytest.mark.full("a boot; the tests beside it have less input")
def test_much_input_and_its_end_last():
    text = "".join(f"{number}\n" for number in range(300000))
    done = subprocess.run(build_lab_words("run", "--machine", "demo-2s", "--functional", "--no-module", "--", "cat"), cwd=TOP, input=text,
                          capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout == text) == (0, True), done.stderr


@pytest.mark.lab
def test_input_that_does_not_end_does_not_hold_the_machine():
    with subprocess.Popen(build_lab_words("run", "--machine", "demo-2s", "--functional", "--no-module", "--", "head", "-n1"), cwd=TOP,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as started:
        started.stdin.write("first\nsecond\n")
        started.stdin.flush()
        assert (started.wait(300), started.stdout.read()) == (0, "first\n")


@pytest.mark.lab
def test_machine_by_its_shape():
    said = "cat /sys/devices/system/node/online /sys/devices/system/node/node*/cpulist; hostname; build/numaplace topology --json"
    done = run_in_lab("sh", "-c", said, options=("--machine", "2x2:128M+1:256M", "--functional", "--no-module"))
    online, *cpus, host, rest = done.stdout.split("\n", 5)
    assert (online, cpus, host) == ("0-2", ["0-1", "2-3", ""], "2x2:128M+1:256M"), done.stderr
    found = json.loads(rest)
    assert found["name"] == "2x2:128M+1:256M"
    assert [node["mem_total"] > 200 << 20 for node in found["nodes"]] == [False, False, True]


@pytest.mark.lab
def test_signal_death_much_output_and_processes_left_behind():
    done = run_in_lab("sh", "-c", "sleep 1000 & seq 200000; kill -SEGV $$")
    assert done.returncode == 128 + signal.SIGSEGV, done.stderr
    assert remove_starts(done.stderr) == ""
    assert done.stdout.split() == [str(number) for number in range(1, 200001)]


@pytest.mark.lab
def test_kernel_that_dies_under_the_command_is_reported():
    done = run_in_lab("sh", "-c", "echo before; sleep 1; echo c >/proc/sysrq-trigger; sleep 60")
    assert done.returncode == 125
    assert done.stdout == "before\n"
    assert "the kernel died while the command ran" in done.stderr
    assert "Kernel panic - not syncing: sysrq triggered crash" in done.stderr


@pytest.mark.lab
def test_wrong_module_is_reported(tmp_path):
    wrong = tmp_path / "numaplace.ko"
    wrong.write_bytes(b"this is no module")
    done = run_in_lab("true", options=("--functional", "--module", str(wrong)))
    assert done.returncode == 125
    assert "loading the module failed" in done.stderr
    # Of the kernel's line and insmod's: a message of the kernel's may come in the middle of a program's.
    assert "Invalid ELF header" in done.stderr or "invalid module format" in done.stderr


def name_cache(folder: Path) -> dict[str, str]:
    """Returns the environment that names another cache; QEMU, which may be in the usual one, is the same."""
    return {"XDG_CACHE_HOME": str(folder), "PATH": f"{Path(qemu_program.find()).parent}:{os.environ['PATH']}"}


@pytest.mark.lab
@pytest.mark.full("a boot for a message")
def test_root_file_system_that_cannot_be_mounted_is_reported(tmp_path):
    """A kernel without its modules has no driver for the host's files."""
    kernel = kernels.find(SERIES)
    bare = tmp_path / "numaplace" / "kernels" / SERIES
    (bare / "boot").mkdir(parents=True)
    (bare / "release").write_text(kernel.release)
    shutil.copy(kernel.image, bare / "boot" / kernel.image.name)
    done = run_in_lab("true", env=name_cache(tmp_path))
    assert done.returncode == 125
    assert "mounting the root file system failed" in done.stderr


@pytest.mark.lab
def test_kernel_that_is_none_is_reported(tmp_path):
    bare = tmp_path / "numaplace" / "kernels" / SERIES
    (bare / "boot").mkdir(parents=True)
    (bare / "release").write_text("6.12.0-none")
    (bare / "boot" / "vmlinuz-6.12.0-none").write_bytes(b"\0" * 4096)
    done = run_in_lab("true", env=name_cache(tmp_path))
    assert done.returncode == 125
    assert "QEMU did not start" in done.stderr


def write_all(to: int, data: bytes):
    while data:
        data = data[os.write(to, data):]


def test_output_that_nobody_reads_does_not_hold_the_machine():
    """A pager on its first page: QEMU writes more than both pipes hold, and is not kept waiting."""
    source, target = os.pipe()
    pump = boot.Pump(target)
    pump.start()
    written, many = threading.Event(), b"x" * (1 << 20)
    threading.Thread(target=lambda: (write_all(pump.sink, many), os.close(pump.sink), written.set()), daemon=True).start()
    assert written.wait(20)
    found = bytearray()
    while len(found) < len(many):
        found += os.read(source, len(many))
    pump.join(20)
    assert found == many and not pump.is_alive()


def test_output_that_cannot_be_written_is_a_fault():
    with open("/dev/full", "wb", buffering=0) as full:
        pump, told = boot.Pump(full.fileno()), threading.Event()
        pump.on_broken = told.set
        pump.start()
        write_all(pump.sink, b"x")
        os.close(pump.sink)
        pump.join(20)
    assert told.is_set() and pump.fault.errno == errno.ENOSPC


def test_output_that_does_not_wait_is_written_whole():
    source, target = os.pipe()
    os.set_blocking(target, False)
    pump, many = boot.Pump(target), b"x" * (1 << 20)
    pump.start()
    threading.Thread(target=lambda: (write_all(pump.sink, many), os.close(pump.sink)), daemon=True).start()
    assert eventually(lambda: not select.select([], [target], [], 0)[1]), "the pipe is full"
    found = bytearray()
    while len(found) < len(many) and select.select([source], [], [], 20)[0]:
        found += os.read(source, len(many))
    pump.join(20)
    assert found == many and pump.fault is None


def test_a_console_that_cannot_be_kept_is_told(tmp_path, capsys):
    (tmp_path / "console").touch()
    boot.keep_console(SimpleNamespace(console="/no/such/file"), SimpleNamespace(console=tmp_path / "console"))
    assert "the console cannot be written to '/no/such/file'" in check_one_line(capsys.readouterr().err)


@pytest.mark.parametrize(("options", "functional"), [
    ((), False), (("--timed",), False), (("--functional",), True),
])
def test_options_for_the_mode(options, functional):
    assert cli.build_parser().parse_args(["run", "--machine", "demo-2s", *options, "--", "true"]).functional == functional


@pytest.mark.lab
def test_time_is_simulated_where_no_option_says_otherwise():
    done = run_in_lab("cat", "/proc/cmdline", options=("--no-module",))
    assert "numaplace_lab=demo-2s,timed " in done.stdout, done.stderr
    assert "numaplace_lab_set" not in done.stdout


@pytest.mark.lab
def test_machine_with_changed_numbers_says_so():
    changes = ("--set", "dram.latency_ns=90", "--set", "link[0].latency_ns=60")
    done = run_in_lab("build/numaplace", "topology", "--json", options=("--functional", "--no-module", *changes))
    assert json.loads(done.stdout)["name"] == "demo-2s+dram.latency_ns=90,link[0].latency_ns=60", done.stderr
