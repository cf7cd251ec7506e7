# SPDX-License-Identifier: GPL-2.0-only
"""Control groups for the tests: made with some settings, emptied and removed at the end."""

from contextlib import contextmanager
from pathlib import Path

import driver

ROOT = Path("/sys/fs/cgroup")


class Group:
    def __init__(self, path: Path):
        self.path = path

    def set(self, name: str, value: str):
        (self.path / name).write_text(value, encoding="ascii")

    def get(self, name: str) -> str:
        return (self.path / name).read_text(encoding="ascii").strip()

    def add(self, pid: int):
        self.set("cgroup.procs", str(pid))


def is_removed(path: Path) -> bool:
    """A group with a process that has not quite ended is busy, though it shows none."""
    try:
        path.rmdir()
    except OSError:
        return False
    return True


@contextmanager
def group(name: str = "numaplace-test", **settings: str):
    """A group below the root; settings are its files with _ for the first dot: cpuset_cpus="0-1". Controllers are as before
    at the end."""
    control = ROOT / "cgroup.subtree_control"
    before = control.read_text(encoding="ascii").split()
    control.write_text("+cpuset +memory", encoding="ascii")
    made = Group(ROOT / name)
    made.path.mkdir()
    try:
        for key, value in settings.items():
            made.set(key.replace("_", ".", 1), value)
        yield made
    finally:
        made.set("cgroup.kill", "1")
        assert driver.eventually(lambda: is_removed(made.path), 60)
        for name in {"cpuset", "memory"} - set(before):
            control.write_text(f"-{name}", encoding="ascii")
