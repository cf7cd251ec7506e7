# SPDX-License-Identifier: GPL-2.0-only
"""Every memory policy of the kernel: installed in a running task, effective there, and restored."""

from pathlib import Path

import driver
import mempolicy as mpol
import pytest
from driver import write

WEIGHTS = Path("/sys/kernel/mm/mempolicy/weighted_interleave")
# mode, nodes, where 64 fresh pages of a task on node 0 go, and what placements shows
POLICIES = {
    "default": (mpol.DEFAULT, 0, {"0": 64}, "default"),
    "local": (mpol.LOCAL, 0, {"0": 64}, "local"),
    "bind": (mpol.BIND, 2, {"1": 64}, "bind:1"),
    "bind-both": (mpol.BIND, 3, {"0": 64}, "bind:0-1"),
    "preferred": (mpol.PREFERRED, 2, {"1": 64}, "preferred:1"),
    "preferred-many": (mpol.PREFERRED_MANY, 2, {"1": 64}, "preferred-many:1"),
    "interleave": (mpol.INTERLEAVE, 3, {"0": 32, "1": 32}, "interleave:0-1"),
    "weighted-interleave": (mpol.WEIGHTED_INTERLEAVE, 3, {"0": 48, "1": 16}, "weighted-interleave:0-1"),
    "bind-static": (mpol.BIND | mpol.STATIC_NODES, 2, {"1": 64}, "bind=static:1"),
    "interleave-static": (mpol.INTERLEAVE | mpol.STATIC_NODES, 3, {"0": 32, "1": 32},
                          "interleave=static:0-1"),
    "bind-relative": (mpol.BIND | mpol.RELATIVE_NODES, 2, {"1": 64}, "bind=relative:1"),
    "preferred-relative": (mpol.PREFERRED | mpol.RELATIVE_NODES, 2, {"1": 64}, "preferred=relative:1"),
}


@pytest.fixture(autouse=True)
def own_policy_back():
    yield
    mpol.set_own(mpol.DEFAULT)


@pytest.fixture
def weights():
    """Three pages on node 0 for one on node 1, where the kernel knows weights."""
    if not WEIGHTS.exists():
        yield
        return
    before = {file: file.read_text() for file in WEIGHTS.glob("node*")}
    for file, weight in zip(sorted(before), "31"):
        file.write_text(weight)
    yield
    for file, weight in before.items():
        file.write_text(weight)


def shown(tid: int) -> dict[str, str]:
    return next(p for p in driver.records("placements") if int(p["tid"]) == tid)


@pytest.mark.parametrize("name", POLICIES)
def test_policy_pos(target, weights, name):
    mode, nodes, pages, text = POLICIES[name]
    if mode == mpol.WEIGHTED_INTERLEAVE and not WEIGHTS.exists():
        assert mpol.try_own(mode, nodes) != 0, "the kernel has it: the test is to be run"
        return
    t = target("anon", 1, threads=1, wrap=("numactl", "--cpunodebind=0", "--preferred=1"))
    before, before_thread = t.ask("policy"), t.ask("thread-policy 0")
    assert before == before_thread == "1 2"
    mpol.set_own(mode, nodes)
    write("place", f"pid={t.pid} mem=caller")
    assert t.ask("policy") == t.ask("thread-policy 0") == f"{mode} {nodes:x}"
    assert t.where("fresh 64") == pages
    assert shown(t.pid)["mem"] == text
    assert shown(t.pid)["saved_mem"] == "preferred:1"
    write("restore", f"pid={t.pid}")
    assert (t.ask("policy"), t.ask("thread-policy 0")) == (before, before_thread)
    assert t.where("fresh 64") == {"1": 64}


def test_policy_swaps_against_allocating_thread(target):
    """Two hundred times another policy for a thread that asks for pages all the while."""
    t = target("anon", 4)
    tid = int(t.ask("map-anew"))
    objects = driver.slab_objects("numa_policy")
    choice = [POLICIES[name][:2] for name in ("bind", "interleave", "default", "preferred-many")]
    for i in range(200):
        mpol.set_own(*choice[i % 4])
        write("place", f"pid={t.pid} mem=caller")
    mpol.set_own(mpol.DEFAULT)
    assert shown(tid)["mem"] == "preferred-many:1"
    rounds = int(t.ask("rounds"))
    assert driver.eventually(lambda: int(t.ask("rounds")) > rounds)
    write("restore", "all")
    assert mpol.of(tid) == mpol.of(t.pid) == "default"
    assert t.ask("counters") == "ok"
    t.stop()
    assert driver.eventually(lambda: driver.slab_objects("numa_policy") <= objects)


def test_policy_later_choice_of_user_stays(target):
    """A policy that the task set itself after the module's is its own, also when it reads the same."""
    t = target("anon", 1)
    mpol.set_own(mpol.BIND, 2)
    write("place", f"pid={t.pid} mem=caller cpus=2")
    kept = driver.stats()["kept_by_user"]
    assert t.ask("set-policy 2 2") == "ok"
    write("restore", f"pid={t.pid}")
    assert t.ask("policy") == "2 2"
    assert driver.stats()["kept_by_user"] == kept + 1


def test_policy_of_the_caller_may_go(target):
    """The writer may end, or choose another policy for itself: the target keeps what it got."""
    t = target("anon", 1)
    mpol.set_own(mpol.BIND, 2)
    write("place", f"pid={t.pid} mem=caller")
    mpol.set_own(mpol.INTERLEAVE, 3)
    assert t.ask("policy") == "2 2"
    assert t.where("fresh 32") == {"1": 32}
