# SPDX-License-Identifier: GPL-2.0-only
"""What a machine is restored from: which snapshot it is, how many are kept, and that a restored machine is like another."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.lab import boot, console, initramfs, kernels, machine, qemu, qemu_program, snapshot
from experiments.lab.qmp import Qmp, QmpError
from experiments.lab.tests.starts import AGAIN, remove_starts
from experiments.paths import HERE, cache
from tests.waiting import eventually

TOP = HERE.code


# What needs no boot

def test_options_of_one_run_become_its_environment():
    kept, own = initramfs.divide_options('a=1 virtme_initmount0=work/x virtme_initmount0_fstype=9p "init=/a b/init" quiet '
                                         'virtme_chdir=work/x virtme_root_user=1 "b=c d" PATH=/bin')
    assert kept == 'a=1 quiet virtme_root_user=1 "b=c d"'
    assert own == {"lab_init": "/a b/init", "virtme_initmount0": "work/x", "virtme_initmount0_fstype": "9p",
                   "virtme_chdir": "work/x", "PATH": "/bin"}


def test_environment_is_read_by_a_shell_as_it_was():
    values = {"lab_run": "/tmp/a b", "quote": "it's \"$HOME\""}
    said = subprocess.run(["sh", "-c", initramfs.format_environment(values) + 'printf "%s|%s" "$lab_run" "$quote"'],
                          capture_output=True, text=True, check=True)
    assert said.stdout == "|".join(values.values())


def test_added_archive_has_what_was_put_in(tmp_path):
    driver, archive = tmp_path / "some.ko", tmp_path / "initramfs"
    driver.write_bytes(b"driver")
    archive.write_bytes(b"")
    initramfs.complete_initramfs(archive, [driver])
    subprocess.run(["busybox", "cpio", "-id"], stdin=archive.open("rb"), cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "drivers/some.ko").read_bytes() == b"driver"
    assert (tmp_path / "init").read_bytes() == initramfs.INIT.read_bytes()
    assert os.access(tmp_path / "init", os.X_OK)


@pytest.mark.parametrize(("name", "text"), [("console", None), ("clock", None), ("clock", ""), ("clock", "7 3\n"), ("state", "cut")])
def test_a_damaged_snapshot_is_an_error_that_starts_the_machine_anew(tmp_path, name: str, text: str | None):
    kept = tmp_path / "kept"
    kept.mkdir()
    for file, content in (("console", "says\n"), ("clock", "7 5\n"), ("state", "state")):
        (kept / file).write_text(content)
    run = qemu.Files(tmp_path)
    snapshot.begin_run(kept, run)
    assert run.console.read_text() == "says\n"
    if text is None:
        (kept / name).unlink()
    else:
        (kept / name).write_text(text)
    with pytest.raises(QmpError, match="missing or damaged|another size"):
        snapshot.begin_run(kept, run)


def make_run(folder: Path, config: str = "core=1 1\n") -> tuple[list[str], qemu.Files]:
    folder.mkdir()
    for name in ("kernel", "plugin.so", "initramfs"):
        (folder.parent / name).write_bytes(name.encode())
    shutil.copy(folder.parent / "initramfs", folder)
    (folder / "simulation.conf").write_text(f"shared={folder}/simulation.shared\n{config}")
    argv = [sys.executable, "-kernel", str(folder.parent / "kernel"), "-append", "quiet", "-cpu", "max",
            "-fsdev", f"local,id=x,path={folder.parent},security_model=none",
            "-plugin", f"{folder.parent}/plugin.so,config={folder}/simulation.conf"]
    return argv, qemu.Files(folder)


def compute_key(folder: Path, cwd: Path, change=lambda argv: argv, **what: str) -> str:
    argv, files = make_run(folder, **what)
    return snapshot.compute_digest(snapshot.generalise_command(change(argv), files, cwd), files)


def test_the_same_machine_has_the_same_snapshot_from_any_folder(tmp_path):
    (tmp_path / "a").mkdir()
    first = compute_key(tmp_path / "a/1", tmp_path / "a")
    assert compute_key(tmp_path / "a/2", tmp_path / "a") == first
    argv, files = make_run(tmp_path / "a/3")
    elsewhere = [word.replace(f"path={tmp_path}/a,", "path=/some/folder,") for word in argv]
    assert snapshot.compute_digest(snapshot.generalise_command(elsewhere, files, Path("/some/folder")), files) == first


def test_another_machine_has_another_snapshot(tmp_path):
    keys = [compute_key(tmp_path / "1", tmp_path),
            compute_key(tmp_path / "2", tmp_path, lambda argv: [*argv, "-m", "1G"]),
            compute_key(tmp_path / "3", tmp_path, config="core=2 1\n"),
            compute_key(tmp_path / "4", tmp_path, lambda argv: ["quiet nosmp" if word == "quiet" else word for word in argv])]
    for number, name in enumerate(("kernel", "plugin.so", "5/initramfs"), 5):
        argv, files = make_run(tmp_path / str(number))
        ((files.initramfs if "initramfs" in name else tmp_path / name)).write_bytes(b"another")
        keys.append(snapshot.compute_digest(snapshot.generalise_command(argv, files, tmp_path), files))
    assert len(set(keys)) == len(keys)


def test_those_used_last_are_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for age, name in enumerate(("new", "used", "old")):
        (snapshot.get_folder() / name).mkdir(parents=True)
        state = snapshot.get_folder() / name / "state"
        state.write_bytes(b"x" * (1 << 20))
        os.utime(state, (1000 - age, 1000 - age))
    snapshot.drop_oldest_snapshots(2 << 20)
    assert sorted(path.name for path in snapshot.get_folder().iterdir()) == ["new", "used"]


def test_one_process_makes_snapshots_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with snapshot.lock_making() as first, snapshot.lock_making() as second:
        assert (first, second) == (True, False)
    with snapshot.lock_making() as third:
        assert third


def test_where_the_cache_cannot_be_written_there_is_no_snapshot(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "numaplace").mkdir()
    (tmp_path / "numaplace/snapshots").write_text("no folder")
    argv, files = make_run(tmp_path / "1")
    assert snapshot.find_snapshot(argv, files, tmp_path, lambda: None) is None


@pytest.mark.parametrize("said", ["", "{\"return\"", '{"error": {"desc": "no such thing"}}\n'])
def test_what_qemu_does_not_do_is_an_error(said):
    ours, its = socket.socketpair()
    with ours, its:
        its.sendall(said.encode())
        its.shutdown(socket.SHUT_WR)
        with pytest.raises(QmpError, match="no such thing" if "error" in said else "QEMU has ended"):
            Qmp(ours)("stop")


# What boots

def make_cache(folder: Path) -> dict[str, str]:
    """Makes a cache with the usual one's kernels and no snapshot; returns the environment that names it."""
    (folder / "numaplace").mkdir()
    (folder / "numaplace/kernels").symlink_to(cache() / "kernels")
    return os.environ | {"XDG_CACHE_HOME": str(folder), "PYTHONPATH": str(TOP),
                         "PATH": f"{Path(qemu_program.find()).parent}:{os.environ['PATH']}"}


def run_lab(env: dict, cwd: Path, *command: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "experiments.lab", "run", "--machine", "demo-2s", "--functional",
                           "--no-module", *options, "--", *command],
                          cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=300)


def make_snapshot(env: dict, cwd: Path) -> Path:
    """Returns the snapshot's folder after a start that made it."""
    for _ in range(boot.STARTS):
        done = run_lab(env, cwd, "true")
        assert done.returncode == 0, done.stderr
        if states := list(cwd.glob("numaplace/snapshots/*/state")):
            return states[0].parent
        assert AGAIN in done.stderr, done.stderr
    pytest.fail(f"no snapshot was made: {done.stderr}")


ABOUT = ("sh", "-c", "date +%s; pwd; cat given; echo made >made; grep -o numaplace_lab_waits=1 /proc/cmdline; "
                     "env | grep -E '^(lab_|virtme_|numaplace_)'")


@pytest.mark.lab
@pytest.mark.long("a whole boot")
def test_a_machine_is_restored_with_the_users_folder_and_time(tmp_path):
    env = make_cache(tmp_path)
    snapshots = make_snapshot(env, tmp_path)
    for name in ("first", "second"):
        place = tmp_path / name
        place.mkdir()
        (place / "given").write_text(f"for {name}\n")
        done = run_lab(env, place, *ABOUT, options=("--console", str(tmp_path / f"{name}-console")))
        assert (done.returncode, remove_starts(done.stderr)) == (0, "")
        seconds, cwd, given, waited, lab = done.stdout.splitlines()
        assert abs(int(seconds) - (tmp_path / f"{name}-console").stat().st_mtime) < 60
        assert (cwd, given, waited) == (str(place), f"for {name}", "numaplace_lab_waits=1")
        assert lab == "numaplace_lab=demo-2s,functional"
        assert (place / "made").read_text() == "made\n"
    assert len(list(snapshots.parent.glob("*/console"))) == 1
    for name in ("first", "second"):
        assert (tmp_path / f"{name}-console").read_text().startswith((snapshots / "console").read_text())


@pytest.mark.lab
@pytest.mark.full("a whole boot for an option")
def test_without_snapshots_none_is_made(tmp_path):
    env = make_cache(tmp_path)
    done = run_lab(env, tmp_path, "cat", "/proc/cmdline", options=("--no-snapshot",))
    assert done.returncode == 0, done.stderr
    assert "waits" not in done.stdout
    assert not (tmp_path / "numaplace/snapshots").exists()


@pytest.mark.lab
@pytest.mark.full("two whole boots")
def test_a_snapshot_that_is_broken_is_made_again(tmp_path):
    env = make_cache(tmp_path)
    os.truncate(make_snapshot(env, tmp_path) / "state", 100_000)
    done = run_lab(env, tmp_path, "echo", "there")
    assert (done.returncode, done.stdout) == (0, "there\n")
    assert "could not be restored from its snapshot" in done.stderr
    assert not list(tmp_path.glob("numaplace/snapshots/*/state"))
    assert make_snapshot(env, tmp_path)


@pytest.mark.lab
@pytest.mark.full("a boot for a line of text")
def test_a_message_of_the_kernel_in_the_middle_of_what_is_waited_for(tmp_path, monkeypatch, capfd):
    text, broken = console.read_text, "numaplace l[    5.532918] hrtimer: interrupt took 22558214 ns\nab: waits"
    monkeypatch.setattr(console, "read_text", lambda path: text(path).replace(snapshot.WAITS, broken, 1))
    for name, value in make_cache(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    job = boot.Job(machine.find("demo-2s"), kernels.find(kernels.DEFAULT_SERIES), ["echo", "there"], module=None, timeout=200,
                   timed=False)
    assert boot.run_job(job) == 0
    said = capfd.readouterr()
    assert said.out == "there\n"
    assert list(tmp_path.glob("numaplace/snapshots/*/state")) or AGAIN in said.err, said.err


WITHOUT_TIMER = """mknod /dev/mem c 1 1
taskset -c 1 devmem 0xfee00320 32 0x100ec # masks the timer's interrupt of CPU 1 in its local APIC
"""


@pytest.mark.lab
@pytest.mark.parametrize("snapshots", [True, False])
@pytest.mark.full("four boots for a fault of QEMU")
def test_a_start_that_lost_the_timer_of_a_cpu_is_made_again(tmp_path, monkeypatch, capfd, snapshots):
    well = initramfs.INIT.read_text(encoding="utf-8")
    ill = tmp_path / "init.sh"
    ill.write_text(well.replace("\ncheck_timers\n", f"\n{WITHOUT_TIMER}check_timers\n"), encoding="utf-8")
    texts = iter([ill])
    real = initramfs.complete_initramfs

    def complete_with_init(*args):
        monkeypatch.setattr(initramfs, "INIT", next(texts, real_init))
        real(*args)

    real_init = initramfs.INIT
    monkeypatch.setattr(initramfs, "complete_initramfs", complete_with_init)
    for name, value in make_cache(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    job = boot.Job(machine.find("demo-2s"), kernels.find(kernels.DEFAULT_SERIES), ["echo", "there"], module=None, timeout=200,
                   timed=False, kernel_options=("iomem=relaxed",), snapshot=snapshots)
    assert boot.run_job(job) == 0
    said = capfd.readouterr()
    assert said.out == "there\n"
    assert "CPU 1 has no timer" in said.err and AGAIN in said.err
    assert not list(tmp_path.glob("numaplace/snapshots/*/state"))


@pytest.mark.lab
def test_a_signal_while_a_snapshot_is_made_leaves_nothing(tmp_path):
    env = make_cache(tmp_path)
    started = subprocess.Popen([sys.executable, "-m", "experiments.lab", "run", "--machine", "demo-2s", "--functional",
                                "--no-module", "--", "true"], cwd=tmp_path, env=env, stderr=subprocess.PIPE, text=True)
    assert eventually(lambda: list(tmp_path.glob("numaplace/snapshots/*.making")), 60)
    started.send_signal(signal.SIGTERM)
    assert (started.wait(60), started.stderr.read()) == (128 + signal.SIGTERM, "")
    assert [path.name for path in (tmp_path / "numaplace/snapshots").iterdir()] == ["lock"]
