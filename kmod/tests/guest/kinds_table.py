# SPDX-License-Identifier: GPL-2.0-only
"""The status of each kind of page after a move by each engine, on the running kernel.

test_kinds_table.py says what must be in it; `make kinds-of-pages` prints it for every kernel series. For that this
program, as root in a lab machine, prints a line of kind, engine and outcome each, with tabs between.
"""

import mmap
import os
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
import mapped  # noqa: E402
import pagemap  # noqa: E402

ENGINES = ("module", "syscall", "auto")
MM = Path("/sys/kernel/mm")
HUGE_64K = MM / "transparent_hugepage" / "hugepages-64kB" / "enabled"


class NotHere(Exception):
    """The kernel has no pages of this kind."""


MAY_LACK = ("large folios of 64 KiB", "file written by write(2), xfs", "secret memory")  # some kernels


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


@contextmanager
def target_folder() -> Iterator[Path]:
    """Where the target makes its file."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TARGET_DIR"] = folder
        try:
            yield Path(folder)
        finally:
            del os.environ["TARGET_DIR"]


def of_disk(kind: str, name: str = "ext4 without journal", mib: int = 16) -> Callable:
    def make(stack: ExitStack, pages: int) -> driver.Target:
        folder = stack.enter_context(target_folder())
        try:
            stack.enter_context(blocks.file_system(mib, folder, name))
        except LookupError as error:
            raise NotHere from error
        return start(stack, kind, pages)
    return make


def of_ramfs(stack: ExitStack, pages: int) -> driver.Target:
    folder = stack.enter_context(target_folder())
    stack.enter_context(blocks.mounted(folder, "-t", "ramfs", "none"))
    return start(stack, "file", pages)


def huge_shared(stack: ExitStack, pages: int) -> driver.Target:
    stack.enter_context(setting(MM / "transparent_hugepage/shmem_enabled", "always"))
    target = start(stack, "shm-huge", pages)
    if pagemap.smaps(target.pid, target.start)["ShmemPmdMapped"] != 2048:
        raise NotHere
    return target


def secret(stack: ExitStack, pages: int) -> driver.Target:
    try:
        return start(stack, "secret", pages)
    except AssertionError as error:  # the target ends at once
        raise NotHere from error


class Unmapped:
    """A file on node 0 that nobody maps, half of which is dirty."""

    def __init__(self, path: Path, pages: int):
        self.path, self.pages, self.words = path, pages, ("--file", path)
        for sync in (["conv=fsync"], ["oflag=append", "conv=notrunc"]):
            blocks.run("numactl", "--membind=0", "dd", "if=/dev/urandom", f"of={path}", f"bs={mmap.PAGESIZE}", f"count={pages // 2}", *sync)
        self.contents = path.read_bytes()

    def stop(self):
        self.path.unlink()

    def where(self) -> dict[str, int]:
        with mapped.mapped_by("file", self.path, 1, self.pages) as (mapper,):
            nodes = pagemap.nodes(mapper.process.pid, mapper.at, self.pages)
        return {str(node): nodes.count(node) for node in set(nodes)}

    def is_whole(self) -> bool:
        """In memory and, read again, on the disk."""
        first = self.path.read_bytes()
        mapped.drop_pages(self.path)
        return first == self.contents == self.path.read_bytes()


def unmapped(stack: ExitStack, pages: int) -> Unmapped:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    stack.enter_context(blocks.file_system(16, folder))
    file = Unmapped(folder / "data", pages)
    stack.callback(file.stop)
    return file


def merged(stack: ExitStack, pages: int) -> driver.Target:
    target = start(stack, "same", pages)
    for name, value in (("sleep_millisecs", "0"), ("pages_to_scan", "1000"), ("run", "1")):
        stack.enter_context(setting(MM / "ksm" / name, value))
    assert driver.eventually(lambda: len({entry & pagemap.PFN for entry in
                                          pagemap.entries(target.pid, target.start, pages)}) == 1, 60)
    (MM / "ksm" / "run").write_text("0")  # or it holds the page now and then
    return target


@dataclass
class Kind:
    """Pages of a kind, and what must become of all of them by each of the engines; "": they are not counted;
    None: the engine has not these words."""
    name: str
    make: Callable[[ExitStack, int], driver.Target]
    module: str
    syscall: str | None
    auto: str
    pages: int = 128
    words: tuple[str, ...] = ()  # of the tool, besides


WHOLE = "moved" if driver.MOVES_WHOLE else "thp_split"
NO_HUGE = "no_huge" if driver.MOVES_WHOLE else "thp_split"
LARGE_OF_EXT4, LARGE_OF_XFS = ("thp_split" if has else "moved" for has in (driver.LARGE_FILES, driver.RELEASE >= (6, 6)))
KINDS = (
    Kind("anonymous", plain("anon"), "moved", "moved", "moved"),
    Kind("anonymous, locked", locked, "moved", "moved", "moved"),
    Kind("huge page", huge, WHOLE, "moved", "moved", 512),
    Kind("huge page, --split", huge, "moved", None, "moved", 512, ("--split",)),
    Kind("huge page, target fragmented", huge_to_fragments, NO_HUGE, "moved", "moved", 512),
    Kind("huge page, mapped by small ones", huge_by_ptes, "thp_split", "moved", "moved", 512),
    Kind("large folios of 64 KiB", middle_sized, "thp_split", "moved", "moved"),
    Kind("shared anonymous", plain("shm"), "moved", "moved", "moved"),
    Kind("shared anonymous, huge", huge_shared, "thp_split", "moved", "moved", 512),
    Kind("memfd", plain("memfd"), "moved", "moved", "moved"),
    Kind("System V segment", plain("segment"), "moved", "moved", "moved"),
    Kind("file on a disk", of_disk("file"), "moved", "moved", "moved"),
    Kind("file written by write(2), ext4", of_disk("file-written", "ext4", 64), LARGE_OF_EXT4, "moved", "moved"),
    Kind("file written by write(2), xfs", of_disk("file-written", "xfs", 320), LARGE_OF_XFS, "moved", "moved"),
    Kind("file that nobody maps", unmapped, "moved", "moved", "moved"),
    Kind("private copies of a file", plain("file-cow"), "moved", "moved", "moved"),
    Kind("file on ramfs", of_ramfs, "file", "busy", "file"),
    Kind("hugetlbfs", of_hugetlb, "hugetlb", "moved", "moved", 512),
    Kind("mapped by two processes", plain("forked"), "shared", "shared", "shared"),
    Kind("mapped by two processes, --shared", plain("forked"), "shared", "moved", "moved", words=("--shared",)),
    Kind("merged by KSM", merged, "shared", "shared", "shared"),
    Kind("merged by KSM, --shared", merged, "shared", "moved", "moved", words=("--shared",)),
    Kind("held by a pipe", plain("pipe"), "pinned", "busy", "pinned"),
    Kind("secret memory", secret, "file", "busy", "file"),
    Kind("zero page", plain("zero"), "absent", "", "absent"),
    Kind("hole", plain("hole"), "absent", "", "absent"),
)


def by_tool(target: driver.Target | Unmapped, kind: Kind, engine: str) -> dict[str, int]:
    named = target.words if isinstance(target, Unmapped) else (target.pid, "--range", f"{target.start:x}-{target.end:x}")
    return mapped.migrate(engine, *named, "--from", "0", "--to", "1", *kind.words)


def observe(kind: Kind, engine: str) -> dict[str, int]:
    """The status of the pages by the engine's counts and, for those that moved, by the kernel's."""
    with ExitStack() as stack:
        target = kind.make(stack, kind.pages)
        before = target.where().get("1", 0)
        found = by_tool(target, kind, engine)
        there = target.where().get("1", 0) - before
        assert there == found.get("moved", 0) + found.get("already", 0), (there, found)
        assert target.is_whole()
        return found


def observe_surely(kind: Kind, engine: str) -> dict[str, int]:
    if kind.make is not huge_to_fragments or getattr(kind, engine) == "moved":
        return observe(kind, engine)
    return fragments.until_none_was_free(lambda: observe(kind, engine), {"moved": kind.pages})


def outcome(kind: Kind, engine: str) -> str:
    """One status of all pages, or how many have which; "" where they are not counted. NotHere."""
    found = observe_surely(kind, engine)
    return "".join(found) if len(found) == 1 else " ".join(f"{name}={n}" for name, n in found.items())


def name_outcome(kind: Kind, engine: str) -> str:
    if getattr(kind, engine) is None:
        return "-"
    try:
        return outcome(kind, engine) or "not asked"
    except NotHere:
        return "-"


def main():
    Path("/proc/sys/kernel/numa_balancing").write_text("0")
    if not driver.is_loaded():
        driver.load()
    for kind in KINDS:
        for engine in ENGINES:
            print(kind.name, engine, name_outcome(kind, engine), sep="\t", flush=True)


if __name__ == "__main__":
    main()
