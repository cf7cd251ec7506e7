# SPDX-License-Identifier: GPL-2.0-only
"""Placing and restoring in the torture test: by the module's files, and by the tool with each of its engines."""

import json
import random
import re
import subprocess
import time

import driver
import mempolicy as mpol

TOOL = driver.TOP / "build" / "numaplace"
POLICIES = [(mpol.DEFAULT, 0), (mpol.BIND, 2), (mpol.INTERLEAVE, 3), (mpol.PREFERRED_MANY, 1)]
MEMORY = ["default", "bind:1", "interleave:0-1", "preferred-many:0"]


def a_thread(draw: random.Random, pid: int) -> int:
    return draw.choice(driver.tids_of(pid) or [pid])


class Module:
    enough = {"place 0": 20, "place 1": 20, "restore 0": 20, "restore 1": 20, "signal": 20, "change": 3, "watch": 10, "move": 20}
    share_of_first = 0.5      # of those that are chosen: these fork the most, and live to the end
    unloads = True            # in every second round, while tasks start and end
    leaves_orphans = False
    sees_through_cpusets = True
    keeps_choices = True      # that tasks make while they are placed
    answers = {"", "ESRCH", "EINVAL", "EACCES", "EBUSY"}
    cpus = ["0", "1-2", "3", "node:0", "node:1", "0-3"]

    def place(self, draw: random.Random, pid: int) -> str:
        words = [f"cpus={draw.choice(self.cpus)}"] if draw.random() < 0.8 else []
        if not words or draw.random() < 0.5:
            mpol.set_own(*draw.choice(POLICIES))
            words.append("mem=caller")
        if draw.random() < 0.3:
            words += ["threads=one"]
            pid = a_thread(draw, pid)
        return driver.refusal("place", f"pid={pid} inherit={draw.randrange(2)} {' '.join(words)}")

    def restore(self, draw: random.Random, pid: int) -> str:
        if draw.random() < 0.2:
            return driver.refusal("restore", "all")
        if draw.random() < 0.5:
            return driver.refusal("restore", f"pid={pid}")
        return driver.refusal("restore", f"tid={a_thread(draw, pid)}")

    def move(self, draw: random.Random, pid: int) -> str:
        return driver.refusal("migrate", f"pid={pid} from=any to={draw.randrange(2)}")

    def restore_all(self):
        driver.write("restore", "all")

    def records(self) -> list:
        return driver.records("placements")


class ToolByModule:
    """`numaplace place` and `numaplace restore`."""

    engine = "module"
    enough = {"place 0": 5, "place 1": 5, "restore 0": 2, "restore 1": 2, "signal": 20, "change": 3, "watch": 5}
    share_of_first = 0.7
    unloads = False
    leaves_orphans = True     # with CPUs by system calls: whose parent has exited before it was seen keeps what it inherited
    sees_through_cpusets = True
    keeps_choices = False     # between two system calls of the tool a task may make one
    cpus = ["0", "1-2", "3", "0-1", "2-3", "0-3"]
    reasons = {"gone": r"no (process|thread) \d+;|(process|thread) \d+ (\(.*?\) )?has (already |just )?exited",
               "nothing": "there is nothing to restore", "cpuset": "cpuset (of process \\d+ )?(allows|does not allow)",
               "by syscall": r"can only be set with sched_setaffinity\(2\), and those children inherit",
               "EBUSY": r"no reaction within 5 s|has held .* for \d+ s"}
    answers = {"", *reasons}

    def run(self, *words: object) -> str:
        """The answer: nothing, or the kind of the error, which is one line."""
        done = subprocess.run([TOOL, *map(str, words)], capture_output=True, text=True, timeout=120, check=False)
        if not done.returncode:
            return ""
        lines = done.stderr.splitlines()
        assert len(lines) == 1, done
        return next((kind for kind, said in self.reasons.items() if re.search(said, lines[0])), lines[0])

    def words(self, draw: random.Random) -> list[str]:
        words = [f"--cpus={draw.choice(self.cpus)}"] if draw.random() < 0.8 else []
        if not words or draw.random() < 0.5:
            words.append(f"--mem={draw.choice(MEMORY)}")
        return words + (["--no-inherit"] if draw.randrange(2) else [])

    def place(self, draw: random.Random, pid: int) -> str:
        words = self.words(draw)
        if draw.random() < 0.3:
            words += ["--one-thread"]
            pid = a_thread(draw, pid)
        return self.run("place", f"--engine={self.engine}", *words, pid)

    def restore(self, draw: random.Random, pid: int) -> str:
        return self.run("restore", "--all" if draw.random() < 0.2 else pid)

    def move(self, draw: random.Random, _pid: int) -> str:
        time.sleep(draw.random())
        return ""

    def restore_all(self):
        assert self.run("restore", "--all") == ""

    def records(self) -> list:
        again = subprocess.run([TOOL, "restore", "--all", "--json"], capture_output=True, text=True, check=True).stdout
        return [count for count in json.loads(again).items() if count[1]] + driver.records("placements")


class ToolBySyscall(ToolByModule):
    """CPUs only, children by looking for them. What a cpuset took from a task before it was placed cannot be seen."""

    engine = "syscall"
    sees_through_cpusets = False

    def words(self, draw: random.Random) -> list[str]:
        return [f"--cpus={draw.choice(self.cpus)}"]
