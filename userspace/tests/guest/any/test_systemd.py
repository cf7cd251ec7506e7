# SPDX-License-Identifier: GPL-2.0-only
"""The unit under a real systemd: the first process of namespaces of its own, with nothing but this unit."""
from collections.abc import Iterator
from pathlib import Path

import pytest
from placed import NODE_CPUS, Target, is_module_loaded, wait_until
from systemd import SYSTEMD, Systemd

CONF = Path("/etc/numaplace/daemon.conf")
OPTIONS = "policy={policy}\noverride\ninterval=100ms\nmin-busy=0\nmin-size=8\nmetrics=/run/numaplace/numaplace.prom\n"
pytestmark = pytest.mark.skipif(not SYSTEMD.exists(), reason="no systemd is installed")


class TargetInside(Target):
    def __init__(self, systemd: Systemd) -> None:
        super().__init__(cpus=1, memory=0, wrap=systemd.list_inside())
        (self.pid,) = systemd.children(self.process.pid)
        self.allocate(16)

    def end(self) -> None:
        self.process.kill()     # which waits for the program, which ends with its input
        self.process.communicate()


@pytest.fixture(scope="module")
def systemd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Systemd]:
    assert is_module_loaded(), "the lab did not load the module"
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
    systemd.run_ctl("stop", "numaplace")


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
    assert systemd.run_ctl("kill", "-s", "KILL", "numaplace").returncode == 0
    wait_until(lambda: systemd.shows("MainPID") not in ("0", first) and systemd.shows("ActiveState") == "active")
    assert int(systemd.shows("NRestarts")) == starts + 1
    assert placed(target, 0)
    systemd.does("stop")
    assert placed(target, 1), "what the one that crashed had done was adopted"


def test_wrong_options_are_not_started_again_and_again(systemd: Systemd) -> None:
    CONF.write_text(OPTIONS.format(policy="maximum-local") + "hysterisis=3\n")
    assert systemd.run_ctl("start", "numaplace").returncode != 0
    wait_until(lambda: systemd.shows("ActiveState") == "failed")
    assert (systemd.shows("ExecMainStatus"), systemd.shows("NRestarts")) == ("2", "0")


def test_without_its_options_it_is_not_started_again_and_again(systemd: Systemd) -> None:
    CONF.unlink(missing_ok=True)
    assert systemd.run_ctl("start", "numaplace").returncode != 0
    wait_until(lambda: systemd.shows("ActiveState") == "failed")
    assert (systemd.shows("ExecMainStatus"), systemd.shows("NRestarts")) == ("2", "0")
