# SPDX-License-Identifier: GPL-2.0-only
"""check-machine on trees of files like those of machines, and on this machine."""

from pathlib import Path

import pytest

from experiments.commands.experiment.cli import main
from experiments.runner import check_machine

GOOD = {
    "proc/sys/kernel/numa_balancing": "0", "proc/sys/vm/zone_reclaim_mode": "0", "proc/loadavg": "0.02 0.1 0.1 1/2 3",
    "proc/cpuinfo": "flags : sse2 avx2", "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance",
    "sys/devices/system/cpu/intel_pstate/no_turbo": "1", "sys/devices/system/cpu/smt/active": "0",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
}


def tree(root: Path, nodes: int = 2, free: int = 60, **changed: str) -> check_machine.Machine:
    for path, text in (GOOD | {name.replace("__", "/"): text for name, text in changed.items()}).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text + "\n")
    for number in range(nodes):
        folder = root / f"sys/devices/system/node/node{number}"
        folder.mkdir(parents=True)
        (folder / "cpulist").write_text(f"{number * 4}-{number * 4 + 3}\n")
        (folder / "distance").write_text(" ".join("10" if k == number else "21" for k in range(nodes)) + "\n")
        (folder / "meminfo").write_text(f"Node {number} MemTotal: {64 << 20} kB\n"
                                        f"Node {number} MemFree: {free << 20} kB\n")
    return check_machine.Machine(root)


def troubles(m: check_machine.Machine) -> dict[str, str]:
    parts = (check_machine.check_nodes, check_machine.check_kernel, check_machine.check_processor, check_machine.check_load)
    found = [finding for part in parts for finding in part(m) if finding.kind != "ok"]
    assert all(finding.remedy for finding in found)
    return {finding.what: finding.kind for finding in found}


def test_a_good_machine_has_none(tmp_path: Path) -> None:
    assert troubles(tree(tmp_path)) == {}


LOCKDOWN, SIG_ENFORCE = "sys/kernel/security/lockdown", "sys/module/module/parameters/sig_enforce"


@pytest.mark.parametrize("files, secure, said, remedy", [
    ({LOCKDOWN: "[none] integrity confidentiality", SIG_ENFORCE: "N"}, True, None, None),
    ({}, False, None, None),
    ({LOCKDOWN: "none [integrity] confidentiality", SIG_ENFORCE: "N"}, True,
     "locked down (integrity, for Secure Boot)", "mokutil --disable-validation"),
    ({LOCKDOWN: "none integrity [confidentiality]"}, False, "locked down (confidentiality)", "lockdown="),
    ({LOCKDOWN: "[none] integrity confidentiality", SIG_ENFORCE: "Y"}, True, "signed modules only", "mokutil --import"),
])
def test_what_keeps_the_module_out_is_named(tmp_path: Path, files: dict, secure: bool, said: str, remedy: str) -> None:
    variable = tmp_path / check_machine.SECURE_BOOT
    variable.parent.mkdir(parents=True)
    variable.write_bytes(bytes([6, 0, 0, 0, secure]))
    found = list(check_machine.check_module(tree(tmp_path, **files)))
    assert "not loaded" in found.pop(0).what
    assert [said in one.what and remedy in one.remedy for one in found] == [True] * bool(said)
    (tmp_path / "sys/module/numaplace").mkdir(parents=True)
    (tmp_path / "sys/module/numaplace/initstate").write_text("live\n")
    assert list(check_machine.check_module(tree(tmp_path / "again")))
    assert not list(check_machine.check_module(check_machine.Machine(tmp_path)))


@pytest.mark.parametrize("changed, said, kind", [
    ({"nodes": 1}, "1 node with CPUs and memory", "obstacle"),
    ({"free": 20}, "node 1 has 20480 of 65536 MiB free", "doubt"),
    ({"proc__loadavg": "3.5 1 1 1/2 3"}, "load is 3.5", "doubt"),
    ({"proc__cpuinfo": "flags : sse2 hypervisor"}, "this is a virtual machine", "doubt"),
    ({"sys__devices__system__cpu__cpu0__cpufreq__scaling_governor": "schedutil"}, "governor schedutil", "doubt"),
    ({"sys__devices__system__cpu__intel_pstate__no_turbo": "0"}, "turbo is on", "doubt"),
    ({"sys__devices__system__cpu__smt__active": "1"}, "SMT is on", "doubt"),
    ({"sys__kernel__mm__transparent_hugepage__enabled": "always madvise [never]"}, "huge pages are off", "doubt"),
    ({"proc__sys__vm__zone_reclaim_mode": "1"}, "vm.zone_reclaim_mode is 1", "doubt"),
])
def test_what_is_wrong_is_found(tmp_path: Path, changed: dict, said: str, kind: str) -> None:
    found = {what: k for what, k in troubles(tree(tmp_path, **changed)).items() if said in what}
    assert set(found.values()) == {kind}


def test_numa_balancing_is_an_obstacle_only_for_who_cannot_switch_it_off(tmp_path: Path, monkeypatch) -> None:
    m = tree(tmp_path, **{"proc__sys__kernel__numa_balancing": "1"})
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert troubles(m) == {}
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert list(troubles(m).values()) == ["obstacle"]


def caches(folder: Path, sizes: dict[int, str]) -> None:
    for level, size in sizes.items():
        index = folder / f"index{level}"
        index.mkdir(parents=True)
        for name, text in (("level", level), ("type", "Unified"), ("size", size)):
            (index / name).write_text(f"{text}\n")


def too_large(root: Path, *gib: int, cpus: int = 4) -> list[str]:
    """Of a machine with nodes of so many GiB, and a last-level cache of 32 MiB each."""
    tree(root, nodes=len(gib))
    for number, size in enumerate(gib):
        folder = root / f"sys/devices/system/node/node{number}"
        (folder / "cpulist").write_text(f"{number * cpus}-{(number + 1) * cpus - 1}\n")
        (folder / "meminfo").write_text(f"Node {number} MemTotal: {size << 20} kB\nNode {number} MemFree: 0 kB\n")
        for cpu in range(number * cpus, (number + 1) * cpus):
            caches(root / f"sys/devices/system/cpu/cpu{cpu}/cache", {2: "1024K", 3: "32768K"})
    return [f.what for f in check_machine.check_sizes(check_machine.Machine(root)) if f.kind != "ok"]


def test_every_suite_fits_large_nodes(tmp_path: Path) -> None:
    assert not too_large(tmp_path, 64, 64)


def test_sizes_are_compared_with_the_node_that_they_are_on(tmp_path: Path) -> None:
    def told(*gib: int) -> list[str]:
        found = too_large(tmp_path / "-".join(map(str, gib)), *gib)
        return [text for text in found if "random-update" in text]

    name = "suite random-update: random-update-1410065408-1215752192"
    assert told(5, 64) == [f"{name}-local needs 5.3 GiB of node 0, which has 5.0"]
    assert told(64, 5) == [f"{name}-remote needs 5.3 GiB of node 1, which has 5.0"]
    assert told(16, 16) == []


def test_what_fits_no_cpus_is_a_doubt_and_no_end(tmp_path: Path) -> None:
    found = too_large(tmp_path, 64, 64, cpus=1)
    assert [what.partition(":")[0] for what in found if "no combination" in what] == [
        "suite loaded-latency", *(f"suite redis-{name}" for name in ("keys", "lists", "tokens", "zsets"))]


@pytest.mark.parametrize("kinds, said", [(("obstacle",), "1 obstacle, 0 doubts: not ready"), (("doubt",), "0 obstacles, 1 doubt: ready, "),
                                         (("obstacle", "doubt", "doubt", "obstacle"), "2 obstacles, 2 doubts: not ready")])
def test_what_was_found_is_counted(kinds: tuple[str, ...], said: str, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_machine, "list_findings", lambda *_: [check_machine.Finding(kind, "what") for kind in kinds])
    assert check_machine.print_findings(Path()) == (3 if "obstacle" in kinds else 0)
    assert capsys.readouterr().out.splitlines()[-1].startswith(said)


def test_on_this_machine_it_says_ready_or_not(capsys, tmp_path: Path) -> None:
    status = main(["check-machine", "--out", str(tmp_path / "not" / "yet")])
    said = capsys.readouterr().out
    assert status == (3 if "obstacle " in said else 0)
    assert said.strip().endswith("not ready") == (status == 3)
    assert not (tmp_path / "not").exists()
