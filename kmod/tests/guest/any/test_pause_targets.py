# SPDX-License-Identifier: GPL-2.0-only
"""Effects of pauses on the threads of a process: short waits, and nothing else."""

import ctypes
import os
import signal

import driver
import pytest
from driver import counts

ALWAYS = "pause=always"
PTRACE_CONT, PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 7, 17, 0x4206, 0x4207
WALL = 0x40000000

libc = ctypes.CDLL(None, use_errno=True)


def begin(t, extra: str = "rate_mib=8") -> int:
    """A job that goes on for a while, with many pauses."""
    number = driver.start_job(f"pid={t.pid} from=any to=1 {t.range()} {ALWAYS} max_stall_us=5000 {extra}")
    assert driver.eventually(lambda: driver.job(number)["asked"] != "0", 60)
    return number


def finish(t, number: int):
    reply = driver.wait_job(number)
    assert reply["state"] == "done"
    assert int(reply["longest_pause_us"]) > 0
    assert t.is_whole()


def test_pause_is_for_a_chunk_not_for_a_job(target):
    """By the thread's own clock: a job of many pauses holds it up for a small part of its time."""
    t = target("anon", 2048)
    t.ask("measure")
    shares = []
    for i in range(4):  # a busy host may hold the thread up as well, but not each time
        before = driver.stats()["pauses"]
        t.ask("longest")
        reply = t.move("any", (i + 1) % 2, f"{ALWAYS} max_stall_us=1000")
        shares.append(int(t.ask("longest")) * 1000 / int(reply["ns"]))
        assert driver.stats()["pauses"] - before > 4
        if shares[-1] < 1 / 3:
            break
    print("longest wait, of the job's time:", shares)
    assert min(shares) < 1 / 3
    assert t.is_whole()


def test_pause_holds_the_threads_up(target):
    """Of a pause that is as long as a job a thread notices nearly all."""
    t = target("anon", 2048)
    t.ask("measure")
    longest = 0
    for i in range(4):
        t.ask("longest")
        reply = t.move("any", (i + 1) % 2, f"{ALWAYS} max_stall_us=1000000")
        longest = max(longest, int(t.ask("longest")) / int(reply["longest_pause_us"]))
        if longest > 0.5:
            break
    assert longest > 0.5


def test_pause_cuts_no_system_call_short(target):
    t = target("anon", 512, threads=1)  # one that is paused for certain
    t.ask("nap")
    finish(t, begin(t, "rate_mib=2"))  # for a second: on a busy host each nap takes long
    naps, cut_short = map(int, t.ask("naps").split())
    assert naps > 10
    assert cut_short == 0


def test_pause_loses_no_signal(target):
    """Signals that are queued: the handler runs once for each, on threads that are paused all the time."""
    t = target("anon", 512, threads=1)
    t.ask(f"handle {int(signal.SIGRTMIN)}")
    number = begin(t)
    for _ in range(40):
        os.kill(t.pid, signal.SIGRTMIN)
    finish(t, number)
    assert driver.eventually(lambda: t.ask("signals") == "40", 30)
    assert t.ask("halt").startswith("ok ")


def state(tid: int) -> str:
    with open(f"/proc/{tid}/stat", encoding="ascii") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0]


def test_pause_and_stop(target):
    """Stopped and continued in the midst of pauses, many times."""
    t = target("anon", 512, threads=1)
    number = begin(t)
    for _ in range(4):
        os.kill(t.pid, signal.SIGSTOP)
        assert driver.eventually(lambda: all(state(tid) == "T" for tid in t.tids()), 30)
        os.kill(t.pid, signal.SIGCONT)
        assert driver.eventually(lambda: any(state(tid) == "R" for tid in t.tids()), 30)
    finish(t, number)
    assert t.ask("halt").startswith("ok ")


def ptrace(request: int, tid: int):
    if libc.ptrace(request, tid, None, None):
        raise OSError(ctypes.get_errno(), "ptrace")


def test_pause_of_a_traced_thread(target):
    """A debugger stops and continues a thread that is paused: neither prevents the other."""
    t = target("anon", 512, threads=1)
    tid = next(tid for tid in t.tids() if tid != t.pid)
    number = begin(t)
    ptrace(PTRACE_SEIZE, tid)
    try:
        for _ in range(4):
            ptrace(PTRACE_INTERRUPT, tid)
            assert os.WIFSTOPPED(os.waitpid(tid, WALL)[1])
            ptrace(PTRACE_CONT, tid)
        finish(t, number)
        ptrace(PTRACE_INTERRUPT, tid)
        os.waitpid(tid, WALL)
        assert counts(t.move("any", 0, ALWAYS)).get("moved", 0) > 0
    finally:
        ptrace(PTRACE_DETACH, tid)
    assert t.ask("halt").startswith("ok ")


def test_pause_of_a_parent_in_vfork(target):
    t = target("anon", 256, threads=1)
    number = begin(t, "rate_mib=2")
    assert t.ask("vfork 5") == "ok"
    finish(t, number)
    assert t.ask("halt").startswith("ok ")


@pytest.mark.parametrize("thread, ends", [("worker", "worker-ends"), ("poller", "poller-works")])
def test_pause_spares_threads_of_io_uring(target, thread, ends):
    """They belong to the process but are the kernel's: not paused, not stranded, and they write to where pages are now."""
    t = target("anon", 512, threads=1)
    assert t.ask(f"ring {thread}") == "ok"
    finish(t, begin(t))
    assert t.where() == {"1": 512}
    assert t.ask("halt").startswith("ok ")
    assert t.ask(f"ring {ends}") == "ok"
    assert t.is_whole()
