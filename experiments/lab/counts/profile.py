# SPDX-License-Identifier: GPL-2.0-only
"""Who uses memory: what the plugin wrote (plugin/profile.h), and of which tasks it is asked."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path


class Refused(Exception):
    """Says in one line that what is asked for cannot be answered."""


@dataclass(frozen=True, eq=False)  # there are many uses of each: compared by identity
class Task:
    """Holds what a CPU counted for a thread, in a cgroup, while its process was in these regions."""
    cpu: int
    node: int  # of the CPU
    tgid: int
    tid: int
    cgroup: int
    regions: int  # a bit each
    loads: int
    stores: int
    remote_cache: int  # lines
    dram: tuple[int, ...]  # lines by node, read by user code


@dataclass(frozen=True)
class Use:
    """Holds the lines of DRAM that one instruction read of one page."""
    task: Task
    page: int  # its address
    code: int  # the instruction's
    node: int
    lines: int

    @property
    def remote(self) -> bool:
        return self.node != self.task.node


@dataclass(frozen=True)
class Note:
    ns: int
    kind: str
    words: list[str]  # cgroup: ID PATH; of watch/watch.c exec: TGID NAME; fork: TGID PARENT; mmap: TGID START BYTES OFFSET PROT NAME


@dataclass
class Profile:
    """Holds what the plugin wrote of one run."""
    regions: dict[str, int] = field(default_factory=dict)  # those that were entered, and their numbers
    notes: list[Note] = field(default_factory=list)  # in the order of time
    tasks: list[Task] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    lost: int = 0  # lines that are in `tasks` and not in `uses`

    @property
    def processes(self) -> set[int]:
        """Returns the command's processes: what it became, and what it made."""
        found = {int(note.words[0]) for note in self.notes if note.kind == "exec"}
        for note in self.notes:
            if note.kind == "fork" and int(note.words[1]) in found:
                found.add(int(note.words[0]))
        return found

    def find_cgroups(self, path: str) -> set[int]:
        """Returns the numbers of a control group and of those below it, of all that were made in the machine."""
        wanted = "/" + path.strip("/")
        return {int(note.words[0]) for note in self.notes if note.kind == "cgroup"
                and (note.words[1] + "/").startswith(wanted.rstrip("/") + "/")}


def parse_note(text: str) -> Note:
    """Parses a note, 'NS KIND WORDS'. The last word is a name, which may have blanks: the sixth of mmap, the second of others."""
    ns, kind, rest = text.split(" ", 2)
    return Note(int(ns), kind, rest.split(" ", {"mmap": 5}.get(kind, 1)))


def read_profile(path: Path) -> Profile:
    """Reads a profile of the plugin's. Refused: it has no end, or no task."""
    profile, tasks, ended = Profile(), {}, False
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        kind, _, rest = line.partition(" ")
        words = rest.split()
        if kind == "region":
            number, entered, name = rest.split(" ", 2)
            profile.regions |= {name: int(number)} if int(entered) else {}
        elif kind == "note":
            profile.notes.append(parse_note(rest))
        elif kind == "task":
            *words, dram = words
            cpu, node, context, *numbers = map(int, words)  # tgid, tid, cgroup, .. of Task
            tasks[cpu, context] = Task(cpu, node, *numbers, tuple(map(int, dram.split(","))))
        elif kind == "dram":
            on_cpu, in_context, page, code, node, lines = words
            profile.uses.append(Use(tasks[int(on_cpu), int(in_context)], int(page, 16), int(code, 16), int(node), int(lines)))
        elif kind == "lost":
            profile.lost += int(words[0])
        ended = kind == "end"
    if not ended:
        raise Refused(f"the counts in {path} have no end: the machine was stopped before it had written them")
    if not tasks:
        raise Refused(f"the counts in {path} have no task: give a command that runs for longer")
    profile.notes.sort(key=lambda note: note.ns)
    profile.tasks = list(tasks.values())
    return profile


@dataclass(frozen=True)
class Selection:
    """Says whose accesses are asked for: the command's processes' where nothing is said, in a region or a cgroup where it is."""
    region: str | None = None
    cgroup: str | None = None

    def __str__(self) -> str:
        return " ".join([f"region {self.region}"] * bool(self.region) + [f"cgroup {self.cgroup}"] * bool(self.cgroup)) or "command"

    def select_tasks(self, profile: Profile) -> Iterator[Task]:
        """Yields the tasks that are asked for. Refused: the region was never entered, or there was no such cgroup."""
        if self.region is not None and self.region not in profile.regions:
            entered = f"these were: {', '.join(profile.regions)}" if profile.regions else "none was"
            raise Refused(f"the region '{self.region}' was never entered, {entered}: correct --region, or begin it in the program")
        groups = profile.find_cgroups(self.cgroup) if self.cgroup is not None else set()
        if self.cgroup is not None and not groups:
            raise Refused(f"there was no cgroup '{self.cgroup}' in the machine: correct --cgroup, or have the command make it")
        processes = profile.processes
        for task in profile.tasks:
            in_group = task.tgid in processes if self.cgroup is None else task.cgroup in groups
            in_region = self.region is None or task.regions >> profile.regions[self.region] & 1
            if in_group and in_region:
                yield task
