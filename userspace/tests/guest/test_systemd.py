# SPDX-License-Identifier: GPL-2.0-only
"""The unit under a real systemd: the first process of namespaces of its own, with nothing but this unit."""
from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from placed import NODE_CPUS, ROOT, TOOL, Target, module_loaded, wait_until

SYSTEMD = Path("/lib/systemd/systemd")
CONF = Path("/etc/numaplace/daemon.conf")
OPTIONS = "policy={policy}\noverride\ninterval=100ms\nmin-busy=0\nmin-size=8\nmetrics=/run/numaplace/numaplace.prom\n"
INSIDE = """set -e
mount --make-rprivate /
mount -t tmpfs tmpfs /run && mkdir /run/systemd
mount -t tmpfs tmpfs /usr/local/bin && cp "$1" /usr/local/bin/numaplace
umount -l /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup
export container=lab SYSTEMD_UNIT_PATH="$2" SYSTEMD_GENERATOR_PATH=/none SYSTEMD_ENVIRONMENT_GENERATOR_PATH=/none
exec /lib/systemd/systemd --system --unit=basic.target --log-target=console --show-status=no
"""

pytestmark = pytest.mark.skipif(not SYSTEMD.exists(), reason="no systemd is installed")


class Systemd:
    def __init__(self, units: Path) -> None:
        for name in ("sysinit", "basic", "shutdown"):
            shutil.copy(f"/lib/systemd/system/{name}.target", units)
        shutil.copy(ROOT / "userspace" / "numaplace.service", units)
        self.unshare = subprocess.Popen(
            ["unshare", "--pid", "--fork", "--kill-child", "--mount", "--uts", "--ipc", "--cgroup", "--mount-proc",
             "sh", "-c", INSIDE, "sh", TOOL, units])
        wait_until(lambda: self.children(self.unshare.pid) != [])
        (self.pid,) = self.children(self.unshare.pid)
        wait_until(lambda: self.ctl("is-system-running").stdout.strip() in ("running", "degraded"))

    @staticmethod
    def children(pid: int) -> list[int]:
        return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))

    def inside(self, *words: object) -> list[str]:
        return ["nsenter", "-t", str(self.pid), "-m", "-p", "-C", *map(str, words)]

    def ctl(self, *words: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.inside("systemctl", *words), capture_output=True, text=True, timeout=120, check=False)

    def does(self, verb: str) -> None:
        done = self.ctl(verb, "numaplace")
        assert done.returncode == 0, done.stderr + self.ctl("status", "-l", "numaplace").stdout

    def shows(self, name: str) -> str:
        return self.ctl("show", "--value", "-p", name, "numaplace").stdout.strip()

    def metric(self, pattern: str) -> str | None:
        """Its first group, in the metrics file as it is now."""
        try:
            found = re.search(pattern, Path(f"/proc/{self.pid}/root/run/numaplace/numaplace.prom").read_text())
        except FileNotFoundError:
            return None
        return found and found[1]

    def end(self) -> None:
        self.unshare.kill()
        self.unshare.wait()


class TargetInside(Target):
    def __init__(self, systemd: Systemd) -> None:
        super().__init__(cpus=1, memory=0, wrap=systemd.inside())
        (self.pid,) = systemd.children(self.process.pid)
        self.allocate(16)

    def end(self) -> None:
        self.process.kill()     # which waits for the program, which ends with its input
        self.process.communicate()


@pytest.fixture(scope="module")
def systemd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Systemd]:
    assert module_loaded(), "the lab did not load the module"
    CONF.parent.mkdir(exist_ok=True)
    started = Systemd(tmp_path_factory.mktemp("units"))
    yield started
    started.end()
    CONF.unlink(missing_ok=True)


@pytest.fixture
def target(systemd: Systemd) -> Iterator[Target]:
    CONF.write_text(OPTIONS.format(policy="maximum-local"))
    started = TargetInside(systemd)
    yield started
    started.end()
    systemd.ctl("stop", "numaplace")


def placed(target: Target, node: int) -> bool:
    return target.cpus() == {NODE_CPUS[node]}


def test_starts_reloads_and_stops(systemd: Systemd, target: Target) -> None:
    systemd.does("start")     # Type=notify: it has said that it is ready
    assert systemd.shows("ActiveState") == "active"
    wait_until(lambda: placed(target, 0))
    assert systemd.metric(r'engine="(\w+)"') == "module", "its sandbox leaves it the module's files"
    CONF.write_text(OPTIONS.format(policy="n-mass"))
    systemd.does("reload")
    wait_until(lambda: systemd.metric(r'policy="([\w-]+)"') == "n-mass")
    systemd.does("stop")
    assert systemd.shows("Result") == "success"
    assert placed(target, 1) and target.policy() == "bind:0"
    assert target.is_whole()


def test_is_started_again_after_a_crash(systemd: Systemd, target: Target) -> None:
    systemd.does("start")
    wait_until(lambda: placed(target, 0))
    first, starts = systemd.shows("MainPID"), int(systemd.shows("NRestarts"))
    assert systemd.ctl("kill", "-s", "KILL", "numaplace").returncode == 0
    wait_until(lambda: systemd.shows("MainPID") not in ("0", first) and systemd.shows("ActiveState") == "active")
    assert int(systemd.shows("NRestarts")) == starts + 1
    assert placed(target, 0)
    systemd.does("stop")
    assert placed(target, 1), "what the one that crashed had done was adopted"


def test_wrong_options_are_not_started_again_and_again(systemd: Systemd) -> None:
    CONF.write_text(OPTIONS.format(policy="maximum-local") + "hysterisis=3\n")
    assert systemd.ctl("start", "numaplace").returncode != 0
    wait_until(lambda: systemd.shows("ActiveState") == "failed")
    assert (systemd.shows("ExecMainStatus"), systemd.shows("NRestarts")) == ("2", "0")


def test_without_its_options_it_is_not_started_again_and_again(systemd: Systemd) -> None:
    CONF.unlink(missing_ok=True)
    assert systemd.ctl("start", "numaplace").returncode != 0
    wait_until(lambda: systemd.shows("ActiveState") == "failed")
    assert (systemd.shows("ExecMainStatus"), systemd.shows("NRestarts")) == ("2", "0")
