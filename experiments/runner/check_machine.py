# SPDX-License-Identifier: GPL-2.0-only
"""check-machine: whether a test machine is ready for a long run, and what to do where it is not.

Nothing is changed. A finding is an obstacle (the suites cannot run, or would measure something
else) or a doubt (they run, the numbers may scatter or need a word beside them).
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from operator import itemgetter
from pathlib import Path

from ..errors import CannotError, UsageError
from ..host import host_nodes
from ..host.distance import find_far_pair
from ..host.tool import MAKE_TOOLS, Numaplace
from ..paths import HERE
from .kinds import footprint
from .suite.designs import expand_suite
from .suite.suite import Suite, list_names, load_suite, replace_levels
from .workloads.kinds import PROGRAMS, list_lacking

GIB = 1 << 30
ROOM = GIB            # bytes on the disk for results
SECURE_BOOT = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
FREE_SHARE = 0.7      # of a node's memory; less will fall back to other nodes
IDLE_LOAD = 0.5       # tasks; a machine at rest has less, on average over a minute
NOT_READY = 3         # exit status


@dataclass(frozen=True)
class Finding:
    """Describes one result of a check, and how it is mended."""
    kind: str   # "ok", "doubt" or "obstacle"
    what: str
    remedy: str = ""


class Machine:
    """Reads the files that the checks need, below a folder that is / except in tests."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root
        self.nodes = host_nodes.list_nodes(root / "sys/devices/system/node")

    def read(self, path: str) -> str | None:
        """Reads a file's text, without spaces around it; None where it cannot be read."""
        try:
            return (self.root / path).read_text().strip()
        except OSError:
            return None

    def has_secure_boot(self) -> bool:
        """Reads whether secure boot is on; the variable has four bytes of attributes before its value."""
        try:
            return (self.root / SECURE_BOOT).read_bytes()[4:] == b"\x01"
        except OSError:
            return False

    def read_each(self, pattern: str) -> list[str]:
        """Reads the files of a pattern. Returns their different texts, sorted."""
        return sorted({path.read_text().strip() for path in self.root.glob(pattern)})


def check_nodes(machine: Machine) -> Iterator[Finding]:
    """Yields an obstacle where nothing is remote, else how many nodes there are and how far apart, and a doubt for each full node."""
    usable = [node for node in machine.nodes if node.usable]
    if len(usable) < 2:
        yield Finding("obstacle", f"{len(usable)} node with CPUs and memory: there is nothing remote here",
                      "run in the lab: numaplace experiment run SUITE --lab")
    else:
        sizes = sorted({len(node.cpus) for node in usable})
        yield Finding("ok", f"{len(usable)} nodes with CPUs and memory, {'/'.join(map(str, sizes))} CPUs each")
        if len({a.distances[b.id] for a, b in permutations(usable, 2)}) > 1:
            home, far = (usable[k] for k in find_far_pair(usable))
            yield Finding("ok", f"nodes at several distances: suites of two nodes take {home.id} and {far.id}, "
                          f"{home.distances[far.id]} apart; numa-stream takes the farthest that all nodes have at once")
    for node in usable:
        if node.free_kib < FREE_SHARE * node.total_kib:
            yield Finding("doubt", f"node {node.id} has {node.free_kib >> 10} of {node.total_kib >> 10} MiB free",
                          "end what uses it, or: sync; echo 3 > /proc/sys/vm/drop_caches")


def check_kernel(machine: Machine) -> Iterator[Finding]:
    """Yields findings about settings of the kernel's memory management that change where pages are."""
    balancing = machine.read("proc/sys/kernel/numa_balancing")
    if balancing not in (None, "0"):
        if os.geteuid():
            yield Finding("obstacle", "kernel.numa_balancing is on and only root can switch it off: the kernel "
                          "would move pages too", "sysctl kernel.numa_balancing=0, or run as root")
        else:
            yield Finding("ok", "kernel.numa_balancing is on; a run switches it off and puts it back")
    reclaim = machine.read("proc/sys/vm/zone_reclaim_mode")
    if reclaim not in (None, "0"):
        yield Finding("doubt", f"vm.zone_reclaim_mode is {reclaim}: a full node is reclaimed before memory of "
                      "another is taken", "sysctl vm.zone_reclaim_mode=0")
    thp = machine.read("sys/kernel/mm/transparent_hugepage/enabled") or ""
    if "[never]" in thp:
        yield Finding("doubt", "transparent huge pages are off: latencies will hold page walks",
                      "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")


def check_processor(machine: Machine) -> Iterator[Finding]:
    """Yields a doubt for each of frequency governor, turbo, SMT and hypervisor that may scatter times."""
    governors = machine.read_each("sys/devices/system/cpu/cpu*/cpufreq/scaling_governor")
    if governors and governors != ["performance"]:
        yield Finding("doubt", f"frequency governor {'/'.join(governors)}: clocks change while a run lasts",
                      "cpupower frequency-set -g performance")
    if machine.read("sys/devices/system/cpu/intel_pstate/no_turbo") == "0" or machine.read(
            "sys/devices/system/cpu/cpufreq/boost") == "1":
        yield Finding("doubt", "turbo is on: one thread runs faster than many",
                      "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, or 0 > .../cpufreq/boost")
    if machine.read("sys/devices/system/cpu/smt/active") == "1":
        yield Finding("doubt", "SMT is on: two threads may share a core", "echo off > "
                      "/sys/devices/system/cpu/smt/control")
    if "hypervisor" in (machine.read("proc/cpuinfo") or "").split():
        yield Finding("doubt", "this is a virtual machine: its nodes need not be the host's", "measure on the host")


def check_load(machine: Machine) -> Iterator[Finding]:
    """Yields a doubt where more than IDLE_LOAD tasks run or wait to, on average over the last minute."""
    load = float((machine.read("proc/loadavg") or "0").split()[0])
    if load > IDLE_LOAD:
        yield Finding("doubt", f"load is {load:g}: others use the processors and their memory bandwidth",
                      "end them; ps -eo pcpu,pid,comm --sort=-pcpu | head")


def check_programs(_machine: Machine) -> Iterator[Finding]:
    """Yields an obstacle for each missing program, a doubt for each that one suite alone needs."""
    for name in sorted({name for programs in PROGRAMS.values() for name in programs} | {"numaplace"}):
        if not (HERE.programs / name).exists():
            yield Finding("obstacle", f"{HERE.programs / name} is missing", MAKE_TOOLS)
    for name, package in (("redis-server", "redis-server"), ("redis-benchmark", "redis-tools"),
                          ("numactl", "numactl")):
        if not shutil.which(name):
            yield Finding("obstacle", f"{name} is not installed: the Redis suites need it", f"apt-get install {package}")
    for suite in map(load_suite, list_names()):
        for name in list_lacking(suite):
            yield Finding("doubt", f"{name} is not installed: --all leaves {suite.name} out",
                          "build it from its authors' sources; Debian 12 does not have it")


def check_module(machine: Machine) -> Iterator[Finding]:
    """Yields a doubt where the module is not loaded, and another where the kernel would refuse it."""
    if machine.read("sys/module/numaplace/initstate"):
        return
    yield Finding("doubt", "the module is not loaded: policies act by system calls; the papers' suites need none",
                  HERE.remedy("make module && insmod build/modules/$(uname -r)/numaplace.ko",
                              "apt-get install numaplace-dkms && modprobe numaplace"))
    yield from check_signatures(machine)


def check_signatures(machine: Machine) -> Iterator[Finding]:
    """Yields a doubt where the kernel would refuse the module. Under lockdown a signature is not enough: debugfs is closed too."""
    secure = machine.has_secure_boot()
    level = re.search(r"\[(integrity|confidentiality)\]", machine.read("sys/kernel/security/lockdown") or "")
    if level:
        yield Finding("doubt", f"the kernel is locked down ({level[1]}{', for Secure Boot' * secure}): it refuses unsigned "
                      "modules, and debugfs, by which the module is used",
                      "mokutil --disable-validation, then reboot" if secure else "boot without the option lockdown=")
    elif machine.read("sys/module/module/parameters/sig_enforce") == "Y":
        yield Finding("doubt", "the kernel loads signed modules only (module.sig_enforce)",
                      "mokutil --import /var/lib/dkms/mok.pub, then reboot: dkms signs the module with that key")


def check_counters(_machine: Machine) -> Iterator[Finding]:
    """Yields whether `numaplace counters` can count here, and a doubt with its reason where it cannot."""
    why = Numaplace().check_counters()
    if why:
        yield Finding("doubt", f"{why}: no IPC or local and remote accesses in the reports",
                      "see Documentation/reference/counters.md")
    else:
        yield Finding("ok", "counters count")


def check_disk(out: Path) -> Iterator[Finding]:
    """Yields an obstacle where results cannot be written, a doubt where the disk has less than ROOM bytes free."""
    existing = next(folder for folder in [out.absolute(), *out.absolute().parents] if folder.exists())
    free = shutil.disk_usage(existing).free
    if not os.access(existing, os.W_OK):
        yield Finding("obstacle", f"{existing} cannot be written", "choose another folder with --out")
    elif free < ROOM:
        yield Finding("doubt", f"{existing} has {free >> 20} MiB free", "results of all suites take up to "
                      f"{ROOM >> 20} MiB; a run that meets a full disk goes on with --resume")


def check_sizes(machine: Machine) -> Iterator[Finding]:
    """Yields what does not fit on its node, of all suites for which there are nodes enough."""
    usable = sum(node.usable for node in machine.nodes)
    for name in list_names():
        suite = load_suite(name)
        if usable >= suite.nodes:
            yield from check_largest(replace_levels(suite, suite.real), host_nodes.sort_nodes(machine.nodes))


def check_largest(suite: Suite, nodes: list[host_nodes.Node]) -> Iterator[Finding]:
    """Yields a doubt where the workload that takes the greatest part of a node takes more than FREE_SHARE of it."""
    try:
        suite = expand_suite(suite, nodes)
    except UsageError as error:
        yield Finding("doubt", str(error), "leave the suite out, or run it in the lab")
        return
    share, need_gib, node, name = max(
        ((need_bytes / (nodes[k].total_kib << 10), need_bytes / GIB, nodes[k], workload.name)
         for workload in suite.workloads for k, need_bytes in footprint.count_bytes(workload, suite).items()), key=itemgetter(0))
    if share > FREE_SHARE:
        yield Finding("doubt", f"suite {suite.name}: {name} needs {need_gib:.1f} GiB of node {node.id}, which has "
                      f"{node.total_kib * 1024 / GIB:.1f}", "such observations will be marked; leave them out "
                      "with --workloads")


def list_doubts() -> list[str]:
    """Returns the doubts about this machine's state now, for the manifest of a run."""
    machine = Machine()
    return [finding.what for check in (check_nodes, check_kernel, check_processor, check_load) for finding in check(machine)
            if finding.kind == "doubt"]


def list_findings(machine: Machine, out: Path) -> list[Finding]:
    """Lists what all checks find. out: the folder of the results. CannotError: numaplace is missing; UsageError: a suite is wrong."""
    found: list[Finding] = []
    for check in (check_nodes, check_kernel, check_processor, check_load, check_programs, check_module, check_counters, check_sizes):
        found += check(machine)
    return found + list(check_disk(out))


def print_findings(out: Path) -> int:
    """Prints all findings. Returns the exit status: 0 where a long run can start, else NOT_READY."""
    try:
        findings = list_findings(Machine(), out)
    except CannotError as error:
        findings = [Finding("obstacle", str(error))]
    except UsageError as error:
        findings = [Finding("obstacle", str(error), "correct the suite")]
    for finding in findings:
        print(f"{finding.kind:9} {finding.what}" + (f"\n{'':9}   -> {finding.remedy}" if finding.remedy else ""))
    obstacles = sum(f.kind == "obstacle" for f in findings)
    doubts = sum(f.kind == "doubt" for f in findings)
    print(f"\n{obstacles} obstacle{'s' * (obstacles != 1)}, {doubts} doubt{'s' * (doubts != 1)}: "
          + ("not ready" if obstacles else "ready" if not doubts else "ready, but look at the doubts first"))
    return NOT_READY if obstacles else 0
