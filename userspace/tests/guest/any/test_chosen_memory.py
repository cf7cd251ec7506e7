# SPDX-License-Identifier: GPL-2.0-only
"""A memory policy that was chosen for a program is left alone, and comes back after --override."""
import subprocess
from collections.abc import Callable, Iterator

import pytest
from placed import TOOL, Target, Tool, wait_until

from tests.target.process import TargetProcess

MIB_PAGES = 256
MPOL_BIND = 2
SIZE = 32     # MiB
MAXIMUM_LOCAL = ("--policy", "maximum-local", "--sample", 0)
CHOSEN = {"interleave:0-1": "--interleave=all", "bind:1": "--membind=1", "preferred:1": "--preferred=1"}


class Chosen(Target):
    """A program with this memory policy, whose CPUs nobody has chosen."""

    def __init__(self, *numactl: str) -> None:
        TargetProcess.__init__(self, wrap=("numactl", *numactl), start_new_session=True)
        self.allocate(SIZE)

    def shown(self) -> str:
        """The policy in numaplace's words."""
        return self.policy().replace("prefer:", "preferred:")


@pytest.fixture
def start() -> Iterator[Callable[..., Chosen]]:
    started: list[Chosen] = []
    yield lambda *words: started.append(Chosen(*words)) or started[-1]
    for target in started:
        target.end()


def is_near(pages: dict[int, int], before: dict[int, int]) -> bool:
    """But for what the program has allocated meanwhile."""
    return all(abs(pages[node] - before[node]) < MIB_PAGES for node in before)


@pytest.mark.parametrize("policy", CHOSEN)
def test_a_chosen_policy_is_kept(plain: Tool, start, engine: str, policy: str) -> None:
    target = start(CHOSEN[policy])
    before = target.pages()
    assert plain("ps", "--sample", 0, target.pid)["tasks"][0]["memory"] == policy
    for words in (MAXIMUM_LOCAL, ("--policy", "remote", "-o", "move=pages", "--sample", 0)):
        for command in ("plan", "apply"):
            done = plain(command, *words, *(("--engine", engine) if command == "apply" else ()), target.pid)
            assert f"its memory policy {policy} was chosen for it and is kept" in done["decisions"][0]["reason"]
            assert done["decisions"][0]["pages_to_move"] == 0
        assert target.shown() == policy and is_near(target.pages(), before)
        plain("restore", "--all")


def test_override_takes_the_policy_and_restore_gives_it_back(plain: Tool, start, engine: str) -> None:
    target = start("--interleave=all")
    before = target.pages()
    done = plain("apply", *MAXIMUM_LOCAL, "--engine", engine, "--override", target.pid)
    assert "its memory policy interleave:0-1 was chosen for it and is replaced (--override)" in done["decisions"][0]["reason"]
    assert min(target.pages().values()) < MIB_PAGES
    assert target.shown() in ({"preferred:0", "preferred:1"} if engine == "module" else {"interleave:0-1"})
    # numaplace's own policy is nobody's choice; the one from before is.
    assert plain("ps", "--sample", 0, target.pid)["tasks"][0]["memory"] == "interleave:0-1"
    assert "interleave:0-1 was chosen" in plain("plan", *MAXIMUM_LOCAL, target.pid)["decisions"][0]["reason"]
    plain("restore", "--all", "--pages")
    assert target.shown() == "interleave:0-1" and is_near(target.pages(), before)


@pytest.mark.parametrize("override", [False, True])
def test_mappings_with_a_policy_of_their_own_stay(start, engine: str, override: bool) -> None:
    """Beside as many pages of the same node that go."""
    target, tool = start("--cpunodebind=1"), Tool(override=override)
    target.ask(f"set-policy {MPOL_BIND} 1")
    target.allocate(SIZE)
    target.allocate(SIZE)
    target.ask("set-policy 0 0")
    target.ask("bind 0")
    before, kept = target.pages(), {0: SIZE * MIB_PAGES, 1: 0}
    assert target.pages("bind:0") == kept
    assert tool("ps", "--sample", 0, target.pid)["tasks"][0]["shm_pages"]["0"] == kept[0]
    for policy in (("interleave",) if override else ("maximum-local", "interleave")):  # with --override its CPUs follow its pages
        done = tool("apply", "--policy", policy, "--sample", 0, "--engine", engine, target.pid)
        assert f"{SIZE * 1024} KiB stay in mappings with a memory policy of their own" in done["decisions"][0]["reason"]
        assert target.pages("bind:0") == kept
        wanted = kept[0] if policy == "maximum-local" else (before[0] + before[1]) // 2
        assert abs(target.pages()[0] - wanted) < MIB_PAGES, done
    tool("restore", "--all", "--pages")
    assert is_near(target.pages(), before) and target.pages("bind:0") == kept and target.is_whole()


def test_the_daemon_keeps_a_chosen_policy(tool: Tool, start, start_target) -> None:
    """The pages of the other task, which is bound to both nodes, show when a plan has been carried out."""
    target, taken = start("--interleave=all"), start_target(cpus=1, memory="all")
    taken.allocate(SIZE)
    before, there = target.pages(), taken.pages()
    daemon = subprocess.Popen([TOOL, "daemon", "--policy", "remote:move=pages", "--interval", "100ms", "--min-busy", "0",
                               str(target.pid), str(taken.pid)], stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: not is_near(taken.pages(), there))
    finally:
        daemon.terminate()
        daemon.communicate(timeout=60)
    assert taken.policy() == "bind:0-1"
    assert target.shown() == "interleave:0-1" and is_near(target.pages(), before)
