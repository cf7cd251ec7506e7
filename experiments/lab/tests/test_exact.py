# SPDX-License-Identifier: GPL-2.0-only
"""numaplace lab run --exact: what goes into the machine, and runs that are the same to the bit."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.bench.lab.inside import load_host
from experiments.lab import exact
from experiments.lab.errors import LabError
from experiments.paths import HERE

TOP = HERE.code
# Four loops on four CPUs, each told when it ends; timers; and what the interrupts of all that were.
BUSY = ("for i in 1 2 3 4; do (n=0; while [ $n -lt 3000 ]; do n=$((n+1)); done; cat /proc/uptime) & done; wait; "
        "sleep 0.3; cat /proc/interrupts /proc/uptime")


def run_exact(*command: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "experiments.lab", "run", "--exact", "--machine", "demo-2s", "--timeout", "300s",
                           *options, "--", *command], cwd=TOP, capture_output=True, text=True, check=False, timeout=330)


def find_digest(done: subprocess.CompletedProcess) -> str:
    found = re.search(r"exact run ([0-9a-f]{64})$", done.stderr.strip())
    assert found, done.stderr
    return found[1]


def test_program_comes_with_its_loader_and_libraries():
    names = [path.name for path in exact.find_needed(["numactl", "-H"], [])]
    assert "numactl" in names and any(name.startswith("libnuma.so") for name in names)
    assert any(name.startswith("ld-linux") for name in names)


def test_script_comes_with_its_interpreter(tmp_path):
    script = tmp_path / "script"
    for words in ("python3", "-S PYTHONPATH=x python3", "-u X python3"):
        script.write_text(f"#!/usr/bin/env {words}\nprint()\n", encoding="utf-8")
        script.chmod(0o755)
        needed = exact.find_needed([str(script)], [])
        assert script in needed and Path("/usr/bin/env") in needed and any(path.name == "python3" for path in needed), words


def test_a_script_without_an_interpreter_is_a_file(tmp_path):
    for number, line in enumerate(("#!\nx\n", "#! \n", "#!/usr/bin/env -S\n")):
        script = tmp_path / str(number)
        script.write_text(line, encoding="utf-8")
        assert script in exact.find_needed(["cat", str(script)], [])


def test_files_of_linked_folders_are_there_by_the_link_s_name(tmp_path):
    (tmp_path / "v1").mkdir()
    (tmp_path / "v1/file").touch()
    (tmp_path / "current").symlink_to("v1")
    (tmp_path / "v1/round").symlink_to("..")
    assert {tmp_path / "v1/file", tmp_path / "current/file"} == set(exact.list_files(tmp_path))


def test_links_that_go_round_through_several_folders_end(tmp_path):
    for here, there in ("ab", "ba", "ac", "ca"):
        (tmp_path / here).mkdir(exist_ok=True)
        (tmp_path / here / there).symlink_to(f"../{there}")
    (tmp_path / "b/file").touch()
    assert {path.relative_to(tmp_path).as_posix() for path in exact.list_files(tmp_path)} == {"b/file", "a/b/file", "c/a/b/file"}


def test_files_are_those_that_words_name_and_those_that_are_asked_for(tmp_path):
    for name in ("named", "asked/deep/for", "neither"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("", encoding="utf-8")
    needed = exact.find_needed(["cat", str(tmp_path / "named"), str(tmp_path)], [tmp_path / "asked"])
    assert [path for path in needed if path.is_relative_to(tmp_path)] == [tmp_path / "asked/deep/for", tmp_path / "named"]


def test_a_long_word_names_no_file():
    assert exact.find_needed(["sh", "-c", "true " + "x" * 300], [])


@pytest.mark.parametrize(("command", "more", "message"), [
    (["no-such-program"], [], "there is no program 'no-such-program' to take into the machine"),
    (["true"], [Path("/no/such/file")], "there is no '/no/such/file' to take into the machine"),
])
def test_what_is_missing_is_named(command, more, message):
    with pytest.raises(LabError, match=message):
        exact.find_needed(command, more)


def test_result_that_was_cut_off_is_none(tmp_path):
    files = exact.qemu.Files(tmp_path)
    files.console.write_bytes(b"line\nnumaplace lab: ends\nlater")
    whole = b"out 3\na\nberr 0\ncounters 2\nc\nstatus 7\n"
    (tmp_path / "result").write_bytes(whole)
    found = exact.read_result(files)
    assert (found.out, found.err, found.counters, found.status) == (b"a\nb", b"", b"c\n", 7)
    for length in range(len(whole)):
        (tmp_path / "result").write_bytes(whole[:length])
        assert exact.read_result(files) is None, length


@pytest.mark.lab
@pytest.mark.full("three runs of many seconds")
def test_same_command_is_the_same_to_the_bit_on_a_busy_host_too():
    first = run_exact("sh", "-c", BUSY)
    with load_host(3):
        again = run_exact("sh", "-c", BUSY)
    assert first.returncode == 0, first.stderr
    assert (again.stdout, find_digest(again)) == (first.stdout, find_digest(first))
    # Another command's run differs, so the digest is of the run.
    other = run_exact("sh", "-c", BUSY.replace("3000", "3001"))
    assert find_digest(other) != find_digest(first) and other.stdout != first.stdout


@pytest.mark.lab
@pytest.mark.long("a whole boot")
def test_output_and_status_are_the_command_s_and_idle_time_is_skipped():
    done = run_exact("sh", "-c", "sleep 5000; cut -d. -f1 /proc/uptime; ls /sys/kernel/debug/numaplace; echo err >&2; exit 3")
    seconds, *control = done.stdout.splitlines()
    assert 5000 < int(seconds) < 5010 and "place" in control
    assert done.returncode == 3 and done.stderr.startswith("err\n")


@pytest.mark.lab
@pytest.mark.long("a whole boot")
def test_kernel_that_dies_is_shown_by_its_last_lines():
    done = run_exact("sh", "-c", "echo c >/proc/sysrq-trigger")
    assert done.returncode == 125
    assert "the kernel died while the command ran" in done.stderr and "sysrq triggered crash" in done.stderr
