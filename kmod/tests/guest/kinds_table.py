# SPDX-License-Identifier: GPL-2.0-only
"""The status of each kind of page after a move by each engine, on the running kernel.

test_kinds_table.py says what must be in it; `make kinds-of-pages` prints it for every kernel series. For that this
program, as root in a lab machine, prints a line of kind, engine and outcome each, with tabs between.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[3])]

import blocks  # noqa: E402
import driver  # noqa: E402
import fragments  # noqa: E402
import pagemap  # noqa: E402

TOOL = driver.TOP / "build" / "numaplace"
ENGINES = ("module", "syscall", "auto")
MM = Path("/sys/kernel/mm")
HUGE_64K = MM / "transparent_hugepage" / "hugepages-64kB" / "enabled"


class NotHere(Exception):
    """The kernel has no pages of this kind."""


@contextmanager
def setting(path: Path, value: str) -> Iterator[None]:
    if not path.exists():
        raise NotHere(path)
    text = path.read_text()
    path.write_text(value)
    try:
        yield
    finally:
        path.write_text(text.split("[")[1].split("]")[0] if "[" in text else text)


def start(stack: ExitStack, kind: str, pages: int) -> driver.Target:
    target = driver.Target(kind, pages)
    stack.callback(target.stop)
    return target


def plain(kind: str) -> Callable:
    return lambda stack, pages: start(stack, kind, pages)


def locked(stack: ExitStack, pages: int) -> driver.Target:
    """mlock(2) holds the pages by a batch of the CPU that it began on, and empties that of the CPU that it ends on."""
    target = start(stack, "mlock", pages)
    pagemap.drain_batches()
    return target


def huge(stack: ExitStack, pages: int) -> driver.Target:
    target = start(stack, "thp", pages)
    if pagemap.smaps(target.pid, target.start)["AnonHugePages"] != 2048:
        raise NotHere
    return target


def huge_to_fragments(stack: ExitStack, pages: int) -> driver.Target:
    target = huge(stack, pages)
    stack.enter_context(fragments.fragmented(1, 32 << 20))
    return target


def huge_by_ptes(stack: ExitStack, pages: int) -> driver.Target:
    target = huge(stack, pages)
    assert target.ask("protect 1 0 8") == "ok"
    return target


def middle_sized(stack: ExitStack, pages: int) -> driver.Target:
    stack.enter_context(setting(HUGE_64K, "always"))
    return start(stack, "thp", pages)


def of_hugetlb(stack: ExitStack, pages: int) -> driver.Target:
    for node in (0, 1):
        pool = Path(f"/sys/devices/system/node/node{node}/hugepages/hugepages-2048kB/nr_hugepages")
        stack.enter_context(setting(pool, "2"))
    return start(stack, "hugetlb", pages)


def of_disk(stack: ExitStack, pages: int) -> driver.Target:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    stack.enter_context(blocks.file_system(16, folder))
    os.environ["TARGET_DIR"] = str(folder)
    stack.callback(os.environ.pop, "TARGET_DIR")
    return start(stack, "file", pages)


def merged(stack: ExitStack, pages: int) -> driver.Target:
    target = start(stack, "same", pages)
    for name, value in (("sleep_millisecs", "0"), ("pages_to_scan", "1000"), ("run", "1")):
        stack.enter_context(setting(MM / "ksm" / name, value))
    assert driver.eventually(lambda: len({entry & pagemap.PFN for entry in
                                          pagemap.entries(target.pid, target.start, pages)}) == 1, 60)
    return target


@dataclass
class Kind:
    """Pages of a kind, and what must become of all of them by each of the engines; "": they are not counted."""
    name: str
    make: Callable[[ExitStack, int], driver.Target]
    module: str
    syscall: str
    auto: str
    pages: int = 128


WHOLE = "moved" if driver.MOVES_WHOLE else "thp_split"
NO_HUGE = "no_huge" if driver.MOVES_WHOLE else "thp_split"
KINDS = (
    Kind("anonymous", plain("anon"), "moved", "moved", "moved"),
    Kind("anonymous, locked", locked, "moved", "moved", "moved"),
    Kind("huge page", huge, WHOLE, "moved", "moved", 512),
    Kind("huge page, target fragmented", huge_to_fragments, NO_HUGE, "moved", "moved", 512),
    Kind("huge page, mapped by small ones", huge_by_ptes, "thp_split", "moved", "moved", 512),
    Kind("large folios of 64 KiB", middle_sized, "thp_split", "moved", "moved"),
    Kind("shared anonymous", plain("shm"), "file", "moved", "moved"),
    Kind("memfd", plain("memfd"), "file", "moved", "moved"),
    Kind("file on a disk", of_disk, "file", "moved", "moved"),
    Kind("private copies of a file", plain("file-cow"), "moved", "moved", "moved"),
    Kind("hugetlbfs", of_hugetlb, "hugetlb", "moved", "moved", 512),
    Kind("mapped by two processes", plain("forked"), "shared", "shared", "shared"),
    Kind("merged by KSM", merged, "shared", "shared", "shared"),
    Kind("held by a pipe", plain("pipe"), "pinned", "busy", "pinned"),
    Kind("zero page", plain("zero"), "absent", "", "absent"),
    Kind("hole", plain("hole"), "absent", "", "absent"),
)


def by_tool(target: driver.Target, engine: str) -> dict[str, int]:
    argv = [TOOL, "migrate", str(target.pid), "--engine", engine, "--from", "0", "--to", "1", "--json",
            "--range", f"{target.start:x}-{target.end:x}"]
    said = subprocess.run(argv, check=True, capture_output=True, text=True)
    found = json.loads(said.stdout)["migrate"]
    assert found["asked"] == sum(found[name] for name in driver.COUNTS), found
    return {name: found[name] for name in driver.COUNTS if found[name]}


def observe(kind: Kind, engine: str) -> dict[str, int]:
    """The status of the pages by the engine's counts and, for those that moved, by the kernel's."""
    with ExitStack() as stack:
        target = kind.make(stack, kind.pages)
        before = target.where().get("1", 0)
        found = by_tool(target, engine)
        there = target.where().get("1", 0) - before
        assert there == found.get("moved", 0), (there, found)
        assert target.is_whole()
        return found


def observe_surely(kind: Kind, engine: str) -> dict[str, int]:
    if kind.make is not huge_to_fragments or getattr(kind, engine) == "moved":
        return observe(kind, engine)
    return fragments.until_none_was_free(lambda: observe(kind, engine), {"moved": kind.pages})


def outcome(kind: Kind, engine: str) -> str:
    try:
        found = observe_surely(kind, engine)
    except NotHere:
        return "-"
    if len(found) == 1:
        return "".join(found)
    return " ".join(f"{name}={n}" for name, n in found.items()) or "not asked"


def main():
    Path("/proc/sys/kernel/numa_balancing").write_text("0")
    if not driver.is_loaded():
        driver.load()
    for kind in KINDS:
        for engine in ENGINES:
            print(kind.name, engine, outcome(kind, engine), sep="\t", flush=True)


if __name__ == "__main__":
    main()
