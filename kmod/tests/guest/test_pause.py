# SPDX-License-Identifier: GPL-2.0-only
"""Pausing: threads stop while a batch moves, never for long, and always go on."""

import os
import signal
import time

import driver
import pytest


@pytest.mark.parametrize("extra", ["pause=always", "pause=auto", "pause=never",
                                   "pause=always max_stall_us=100", "pause=always threads=4"])
def test_pause_moves_everything(target, extra):
    t = target("anon", 256, threads=2)
    before = driver.stats()["pauses"]
    reply = t.move("0", 1, extra)
    assert reply["state"] == "done"
    assert int(reply["moved"]) + int(reply["busy"]) == 256
    assert int(reply["moved"]) > 200
    paused = driver.stats()["pauses"] - before
    assert (paused == 0) == ("never" in extra)
    assert (int(reply["longest_pause_us"]) == 0) == ("never" in extra)
    assert t.ask("counters") == "ok"
    assert t.is_whole()


def test_pause_budget_sets_the_batches(target):
    """A smaller budget takes more and shorter pauses."""
    t = target("anon", 512, threads=2)
    counted = {}
    for i, budget in enumerate((1000, 200000)):
        before = driver.stats()["pauses"]
        t.move(str(i), 1 - i, f"pause=always max_stall_us={budget}")
        counted[budget] = driver.stats()["pauses"] - before
    assert counted[1000] > counted[200000]


def shootdowns() -> int:
    with open("/proc/interrupts", encoding="ascii") as interrupts:
        line = next(line for line in interrupts if line.strip().startswith("TLB:"))
    return sum(int(word) for word in line.split() if word.isdigit())


def test_pause_saves_interrupts(target):
    """What it is for: unmapping the pages of a running process interrupts its CPUs for each."""
    t = target("anon", 256, threads=2)
    taken = {}
    for i, mode in enumerate(("never", "always")):
        before = shootdowns()
        # One worker: four would put the target's threads off the machine's four CPUs, and nobody be interrupted.
        # A long budget: on a busy host the threads take long to come by, and are waited for.
        reply = t.move(str(i), 1 - i, f"threads=1 pause={mode} max_stall_us=1000000")
        assert int(reply["moved"]) > 200
        taken[mode] = shootdowns() - before
    print("TLB shoot-downs for 256 pages:", taken)
    assert taken["always"] < taken["never"] / 4


def test_pause_leaves_sleepers_alone(target):
    """A thread that sleeps in a system call sees nothing of it: no EINTR, no wake-up."""
    t = target("anon", 1024)
    switches = f"/proc/{t.pid}/status"

    def voluntary() -> int:
        with open(switches, encoding="ascii") as status:
            return int(status.read().split("\nvoluntary_ctxt_switches:")[1].split()[0])

    def asleep() -> bool:
        with open(f"/proc/{t.pid}/syscall", encoding="ascii") as call:
            return call.read().startswith("0 0x0 ")  # read(0, ..)

    assert driver.eventually(asleep)  # it has begun to wait for the next command
    before = voluntary()
    assert t.move("0", 1, "pause=always")["moved"] == "1024"
    assert voluntary() == before


def runs(t) -> bool:
    def spent() -> int:
        with open(f"/proc/{t.pid}/stat", encoding="ascii") as stat:
            return sum(map(int, stat.read().split(")")[1].split()[11:13]))

    before = spent()
    return driver.eventually(lambda: spent() > before, 5)


def test_pause_cancelled_strands_nobody(target):
    t = target("anon", 8192, threads=2)
    for _ in range(5):
        number = driver.start_job(f"pid={t.pid} from=any to=1 {t.range()} pause=always rate_mib=4")
        assert driver.eventually(lambda: driver.job(number)["asked"] != "0")
        driver.write("cancel", f"job={number}")
        driver.wait_job(number, 5)
        assert runs(t)
    assert t.ask("counters") == "ok"


def test_pause_unload_strands_nobody(target):
    t = target("anon", 8192, threads=2)
    driver.start_job(f"pid={t.pid} from=0 to=1 {t.range()} pause=always rate_mib=4")
    assert driver.eventually(lambda: driver.records("jobs")[-1]["moved"] != "0")
    assert driver.unload() == 0
    assert runs(t)
    assert t.ask("counters") == "ok"
    assert t.is_whole()


def test_pause_killed_target_ends(target):
    t = target("anon", 8192, threads=2)
    number = driver.start_job(f"pid={t.pid} from=0 to=1 {t.range()} pause=always max_stall_us=1000000")
    assert driver.eventually(lambda: driver.job(number)["state"] == "running")
    begin = time.monotonic()
    t.process.kill()
    t.process.wait(10)
    assert time.monotonic() - begin < 5
    assert driver.wait_job(number)["state"] in ("failed", "done")


def test_pause_stopped_target(target):
    """Stopped threads are paused already; they are still stopped afterwards, and go on when told."""
    t = target("anon", 1024, threads=2)
    os.kill(t.pid, signal.SIGSTOP)
    assert t.move("0", 1, "pause=always")["moved"] == "1024"
    with open(f"/proc/{t.pid}/stat", encoding="ascii") as stat:
        assert stat.read().split(")")[1].split()[0] == "T"
    os.kill(t.pid, signal.SIGCONT)
    assert t.where() == {"1": 1024}
    assert runs(t)
    assert t.ask("counters") == "ok"


def test_pause_neg(target):
    t = target("anon", 1)
    for extra in ("pause=sometimes", "pause=", "max_stall_us=99", "max_stall_us=1000001", "threads=0",
                  "threads=17", "max_stall_us=-1"):
        assert driver.refusal("migrate", f"pid={t.pid} from=0 to=1 {extra}") == "EINVAL", extra
