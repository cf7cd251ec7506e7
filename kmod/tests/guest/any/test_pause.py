# SPDX-License-Identifier: GPL-2.0-only
"""Pausing: threads stop while a batch moves, for a bounded time, and always resume."""

import os
import re
import signal
from pathlib import Path

import driver
import pytest
import tracefs
from driver import counts, eventually


def waits_for_a_command(t) -> bool:
    with open(f"/proc/{t.pid}/syscall", encoding="ascii") as call:
        return call.read().startswith("0 0x0 ")  # read(0, ..)


def is_stopped(t) -> bool:
    stats = [Path(f"/proc/{t.pid}/task/{tid}/stat").read_text() for tid in t.tids()]
    return all(stat.rsplit(")", 1)[1].split()[0] == "T" for stat in stats)


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

    def move(mode: str) -> int:
        """Returns how many threads ran on because a busy host delayed their return to user mode."""
        pages = t.where()
        origin = max(pages, key=pages.get)
        before, ran_on = shootdowns(), driver.stats()["unpaused"]
        # One worker: four would put the target's threads off the machine's four CPUs, and no thread be interrupted.
        # A long budget: on a busy host the threads take long to return to user mode, and are waited for.
        reply = t.move(origin, 1 - int(origin), f"threads=1 pause={mode} max_stall_us=1000000")
        assert int(reply["moved"]) > 200
        taken[mode] = shootdowns() - before
        return driver.stats()["unpaused"] - ran_on

    move("never")
    assert any(move("always") == 0 for _ in range(5))
    print("TLB shoot-downs for 256 pages:", taken)
    assert taken["always"] < taken["never"] / 4


def test_pause_leaves_sleepers_alone(target):
    """A thread that sleeps in a system call sees nothing of it: no EINTR, no wake-up."""
    t = target("anon", 1024)
    switches = f"/proc/{t.pid}/status"

    def voluntary() -> int:
        with open(switches, encoding="ascii") as status:
            return int(status.read().split("\nvoluntary_ctxt_switches:")[1].split()[0])

    assert eventually(lambda: waits_for_a_command(t))
    before = voluntary()
    assert t.move("0", 1, "pause=always")["moved"] == "1024"
    assert voluntary() == before


def runs(t) -> bool:
    def spent() -> int:
        with open(f"/proc/{t.pid}/stat", encoding="ascii") as stat:
            return sum(map(int, stat.read().split(")")[1].split()[11:13]))

    before = spent()
    return driver.eventually(lambda: spent() > before)


def test_pause_cancelled_strands_nobody(target):
    t = target("anon", 8192, threads=2)
    for _ in range(5):
        number = driver.start_job(f"pid={t.pid} from=any to=1 {t.range()} pause=always rate_mib=1")
        assert driver.eventually(lambda: driver.job(number)["asked"] != "0")
        driver.write("cancel", f"job={number}")
        assert driver.wait_job(number)["state"] == "cancelled"
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
    assert driver.eventually(lambda: driver.job(number)["state"] != "queued")
    t.stop()
    assert driver.wait_job(number)["state"] in ("failed", "done")


def test_pause_stopped_target(target):
    """Stopped threads are paused already; they are still stopped afterwards, and go on when told."""
    t = target("anon", 1024, threads=2)
    os.kill(t.pid, signal.SIGSTOP)
    assert eventually(lambda: is_stopped(t))
    assert t.move("0", 1, "pause=always")["moved"] == "1024"
    assert is_stopped(t)
    os.kill(t.pid, signal.SIGCONT)
    assert t.where() == {"1": 1024}
    assert runs(t)
    assert t.ask("counters") == "ok"


def kernel_ticks(t, tid: int) -> int:
    """Of a hundredth of a second, that a thread has spent in the kernel."""
    stat = Path(f"/proc/{t.pid}/task/{tid}/stat").read_text()
    return int(stat.rsplit(")", 1)[1].split()[12])


@pytest.fixture
def alone():
    """
    Puts the thread of a target that asks for random numbers on a CPU of its own.

    On one that it shared with the job's worker, which runs on node 1, with this program, or with the target's other
    threads, it would not run when they do, and so not be waited for. Returns when it is in its system call, of
    seconds: met before, it is paused, and the next pause takes it back before it comes to the call.
    """
    ours = os.sched_getaffinity(0)

    def start(t):
        os.sched_setaffinity(0, {1})
        others = set(t.tids())
        assert t.ask("random") == "ok"
        tid, = set(t.tids()) - others
        for other in others:
            os.sched_setaffinity(other, {1})
        os.sched_setaffinity(tid, {0})
        assert eventually(lambda: kernel_ticks(t, tid) >= 3)

    yield start
    os.sched_setaffinity(0, ours)


STALL_US = 1000000       # the longest, so that a wait of its quarter is longer than what a busy host adds
PAUSES, BATCH = 32, 32   # as many pages as are taken at a time with rate_mib=1


def test_pause_is_not_spent_on_a_thread_in_the_kernel(target, alone):
    """
    It is waited for, not for more than a quarter of a pause and less each time, and then runs on.

    A busy host makes pauses longer, never shorter: one that is far shorter than the first wait tells.
    """
    t = target("anon", PAUSES * BATCH, 1)
    for page in range(t.start, t.end, BATCH * 4096):  # one in each batch, so that moving takes next to no time
        assert driver.migrate(f"pid={t.pid} from=1 to=0 start={page:#x} end={page + 4096:#x}")["moved"] == "1"
    alone(t)
    before = driver.stats()
    with tracefs.recording("numaplace/batch") as seen:
        reply = t.move("any", 1, f"pause=always max_stall_us={STALL_US} duty=100 rate_mib=1")
        batches = [fields for _, fields in seen() if fields["job"] == reply["job"]]
    assert counts(reply) == {"moved": PAUSES, "already": PAUSES * (BATCH - 1)}
    grown = {name: value - before[name] for name, value in driver.stats().items()}
    in_vain = [int(batch["pause_us"]) for batch in batches if batch["unpaused"] == "1"]
    print(grown["pauses"], "pauses; us of those it ran on in:", in_vain)
    assert grown["pauses"] == PAUSES and len(in_vain) == grown["unpaused"] > PAUSES / 2
    assert min(in_vain) < STALL_US / 4 / 2
    assert t.is_whole()


@pytest.mark.parametrize("duty", [pytest.param(10, marks=pytest.mark.full("rests nine times as long as it works")), 50])
def test_pause_leaves_the_target_its_share(target, duty):
    """Between two pauses the threads run for as long as the first was, or nine times as long."""
    t = target("anon", 512, threads=2)
    before = driver.stats()["pauses"]
    reply = t.move("0", 1, f"pause=always max_stall_us=2000 duty={duty}")
    assert int(reply["moved"]) > 400
    assert driver.stats()["pauses"] - before > 2
    paused, longest = int(reply["paused_us"]), int(reply["longest_pause_us"])
    assert 0 < longest < paused
    # Nothing follows the last pause.
    assert int(reply["ns"]) / 1000 >= paused + (paused - longest) * (100 - duty) / duty
    assert t.ask("counters") == "ok"


def test_pause_share_of_a_target_that_sleeps(target):
    """A target whose threads sleep is not paused, so that duty= does not slow its job."""
    t = target("anon", 1024)
    assert eventually(lambda: waits_for_a_command(t))
    reply = t.move("0", 1, "pause=always duty=1")
    assert counts(reply) == {"moved": 1024}
    assert reply["paused_us"] == "0"


def start_long_rest(t: driver.Target, alone) -> int:
    """A job that has just stopped a thread for more than 0.2 s and lets it run for more than 20 s."""
    alone(t)  # is waited for in vain, for 0.25 s
    number = driver.start_job(f"pid={t.pid} from=0 to=1 {t.range()} pause=always max_stall_us=1000000 duty=1")
    assert driver.eventually(lambda: int(driver.job(number)["longest_pause_us"]) > 200000, 60)
    return number


def half_of_the_rest(number: int) -> float:
    """In seconds: a busy host that holds the job up has made the pause longer, and so its rest."""
    return int(driver.job(number)["longest_pause_us"]) / 1e6 * 99 / 2


def test_pause_rest_ends_with_the_job(target, alone):
    number = start_long_rest(target("anon", 8192), alone)
    driver.write("cancel", f"job={number}")
    assert driver.wait_job(number, half_of_the_rest(number))["state"] == "cancelled"


def test_pause_rest_ends_with_the_target(target, alone):
    t = target("anon", 8192)
    number = start_long_rest(t, alone)
    t.stop()
    assert driver.wait_job(number, half_of_the_rest(number))["state"] == "failed"


def test_pause_neg(target):
    t = target("anon", 1)
    for extra in ("pause=sometimes", "pause=", "max_stall_us=99", "max_stall_us=1000001", "threads=0",
                  "threads=17", "max_stall_us=-1", "duty=0", "duty=101", "duty=-1"):
        assert driver.refusal("migrate", f"pid={t.pid} from=0 to=1 {extra}") == "EINVAL", extra


def test_pause_ends_at_its_limit(target):
    """By a timer of high resolution in the parked thread: an ordinary one ends at a tick, 4 ms or more later."""
    t = target("anon", 2048, threads=1)
    tid = next(tid for tid in t.tids() if tid != t.pid)
    with tracefs.recording("timer/hrtimer_start", "timer/timer_start"):
        t.move("0", 1, "pause=always max_stall_us=100")
        lines = (tracefs.FOLDER / "trace").read_text().splitlines()
    own = [line for line in lines if re.match(rf"\s*\S+-{tid}\s", line)]
    assert [line for line in own if "function=hrtimer_wakeup" in line], own
    assert not [line for line in own if "function=process_timeout" in line]
    assert t.is_whole()
