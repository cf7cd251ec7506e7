# SPDX-License-Identifier: GPL-2.0-only
"""place and restore of a unit under a real systemd, by its own settings."""
import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from placed import NODE_CPUS, wait_until
from systemd import SYSTEMD, Systemd

ROOT = Path("/sys/fs/cgroup")
UNIT = "[Service]\nExecStart=/bin/sleep 100000\nAllowedCPUs=0-2\n"

pytestmark = pytest.mark.skipif(not SYSTEMD.exists(), reason="no systemd is installed")


def is_removed(folder: Path) -> bool:
    """The cgroup and those below it, from the bottom up."""
    for path in sorted(folder.glob("**/"), reverse=True):
        with suppress(OSError):
            path.rmdir()
    return not folder.exists()


class Shop(Systemd):
    def tool(self, *words: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.list_inside("/usr/local/bin/numaplace", *words, "--json"), capture_output=True, text=True,
                              timeout=240, check=False)

    def answer(self, *words: object) -> dict:
        done = self.tool(*words)
        assert done.returncode == 0, done
        return json.loads(done.stdout)

    def settings(self) -> list[str]:
        return [self.run_ctl("show", "--value", "-p", name, "shop").stdout.strip()
                for name in ("AllowedCPUs", "AllowedMemoryNodes")]

    def file(self, name: str) -> str:
        path = Path(f"/proc/{self.pid}/root/sys/fs/cgroup/system.slice/shop.service/{name}")
        return path.read_text().strip() if path.exists() else "missing"


@pytest.fixture(scope="module")
def systemd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """With the controllers of the root cgroup, which is that of its cgroup namespace."""
    units = tmp_path_factory.mktemp("units")
    (units / "shop.service").write_text(UNIT)
    own = re.search(r"^0::/(.*)$", Path("/proc/self/cgroup").read_text(), re.MULTILINE)[1]
    controllers, there = (ROOT / "cgroup.subtree_control").read_text().split(), set(ROOT.glob("*/"))
    (ROOT / "cgroup.procs").write_text(str(os.getpid()))
    started = Shop(units)
    yield started
    started.end()
    (ROOT / own / "cgroup.procs").write_text(str(os.getpid()))
    for folder in sorted(set(ROOT.glob("*/")) - there):
        wait_until(lambda folder=folder: is_removed(folder), f"{folder} is removed")
    # Also in groups of before, which systemd may have taken for its own: a child that has one keeps it on in the root.
    for name in set((ROOT / "cgroup.subtree_control").read_text().split()) - set(controllers):
        for folder in sorted(ROOT.glob("**/"), reverse=True):
            (folder / "cgroup.subtree_control").write_text(f"-{name}")


@pytest.fixture
def shop(systemd: Shop) -> Iterator[Shop]:
    assert systemd.run_ctl("start", "shop").returncode == 0
    wait_until(lambda: systemd.file("cpuset.cpus") == "0-2", lambda: systemd.run_ctl("status", "-l", "shop").stdout)
    yield systemd
    systemd.run_ctl("stop", "shop")


def test_its_settings_are_set_and_put_back(shop: Shop) -> None:
    answer = shop.answer("place", "--unit", "shop", "-N", 1, "-m", 1)
    assert (answer["cgroup"], answer["unit"]) == ("/system.slice/shop.service", "shop.service")
    assert shop.settings() == [NODE_CPUS[1], "1"]
    assert (shop.file("cpuset.cpus"), shop.file("cpuset.mems")) == (NODE_CPUS[1], "1")
    shop.answer("place", "--unit", "shop.service", "-C", 3)
    assert shop.answer("restore", "--unit", "shop") == {"restored": 1, "left_alone": 0}
    assert shop.settings() == ["0-2", ""]
    wait_until(lambda: shop.file("cpuset.cpus") == "0-2")


@pytest.mark.full("a start of the unit more")
def test_also_when_it_was_started_again(shop: Shop) -> None:
    shop.answer("place", "--unit", "shop", "-N", 1)
    assert shop.run_ctl("restart", "shop").returncode == 0
    wait_until(lambda: shop.file("cpuset.cpus") == NODE_CPUS[1])
    assert shop.answer("restore", "--unit", "shop") == {"restored": 1, "left_alone": 0}
    assert shop.settings() == ["0-2", ""]


def test_what_the_user_set_since_stays(shop: Shop) -> None:
    shop.answer("place", "--unit", "shop", "-N", 1)
    assert shop.run_ctl("set-property", "--runtime", "shop", "AllowedCPUs=0,2").returncode == 0
    answer = shop.answer("restore", "--all")
    assert (answer["restored"], answer["left_alone"]) == (0, 1)
    assert shop.settings() == ["0 2", ""]
    assert shop.run_ctl("set-property", "--runtime", "shop", "AllowedCPUs=0-2").returncode == 0


def test_one_that_does_not_run(shop: Shop) -> None:
    done = shop.tool("place", "--unit", "is-not-there", "-N", 1)
    assert done.returncode == 1 and "is-not-there.service" in done.stderr and done.stdout == ""
