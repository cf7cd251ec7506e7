# SPDX-License-Identifier: GPL-2.0-only
"""Simulated time: what QEMU, its plugin and the guest's kernel are told so that a machine has its own time."""

import re
import subprocess
from pathlib import Path

from experiments.lab.errors import UNABLE, USAGE, LabError
from experiments.lab.kernels import Kernel
from experiments.lab.machine import Machine
from experiments.places import HERE

SHARED_BYTES = 1 << 20
KERNEL_OPTIONS = (
    # The guest's clock is slower than the host's timers: re-armed for the rest, they would expire again and again.
    "highres=off", "nohz=off",
    # The other CPUs come up after the lab's module, which slows their ticks: of many CPUs they alone keep the host
    # busy. And at the end of its start a kernel patches code that idle CPUs run at each tick, which QEMU 7.2 may
    # translate half patched; with one CPU there is no other that could.
    "maxcpus=1",
)
# The oldest and the newest QEMU that the simulation was tested with: Debian 12's and Debian 13's.
OLDEST, NEWEST = (7, 2), (10, 0)
GUEST_ADDRESSES_SINCE = (8, 1)  # of QEMU: what its plugins are told are guest physical addresses
# q35 has memory below this, and goes on at 4 GiB, when it has more than fits under the first
LOW_MEMORY_LIMIT, LOW_MEMORY, HIGH_MEMORY = 0xB0000000, 0x80000000, 1 << 32


def guest_module(kernel: Kernel) -> Path:
    return kernel.module.with_name("numaplace_lab.ko")


def check(machine: Machine, kernel: Kernel):
    if not machine.model or not machine.cache:
        raise LabError(USAGE, f"machine '{machine.name}' has no [model] or no [[cache]], so its time cannot "
                       "be simulated: run it with --functional")
    check_qemu(qemu_version())
    for path in (HERE.plugin, guest_module(kernel)):
        if not path.exists():
            remedy = HERE.remedy("run make lab-simulation", f"run numaplace lab setup --kernel {kernel.series}")
            raise LabError(UNABLE, f"{path} is not built: {remedy}")


def qemu_version() -> tuple[int, int]:
    said = subprocess.run(["qemu-system-x86_64", "--version"], capture_output=True, text=True, check=False)
    match = re.search(r"version (\d+)\.(\d+)", said.stdout)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def check_qemu(version: tuple[int, int]):
    """Arguments and times of the calls into a plugin change between versions without notice."""
    if not OLDEST <= version <= NEWEST:
        raise LabError(UNABLE, f"QEMU {named(version)} is none that the lab's simulation was tested with, which are "
                       f"{named(OLDEST)} to {named(NEWEST)}: install Debian 12's or 13's qemu-system-x86, or run with --functional")


def named(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))


def block_ranges(machine: Machine) -> list[tuple[int, int, int]]:
    """Node, start and end of its memory as older QEMU tells a plugin.

    That adds the offset of a block of memory among all blocks to its offset in the machine's memory; with
    a block for each node, one after the other, the two are the same, and holes do not count.
    """
    ranges, offset = [], 0
    for index, node in enumerate(machine.nodes):
        if node.memory:
            ranges.append((index, 2 * offset, 2 * offset + node.memory))
        offset += node.memory
    return ranges


def guest_ranges(machine: Machine) -> list[tuple[int, int, int]]:
    """Node, start and end of its memory in the guest, around the hole below 4 GiB."""
    low = LOW_MEMORY if machine.memory >= LOW_MEMORY_LIMIT else machine.memory
    ranges, offset = [], 0
    for index, node in enumerate(machine.nodes):
        end = offset + node.memory
        if offset < low and node.memory:
            ranges.append((index, offset, min(end, low)))
        if end > low:
            start = max(offset, low)
            ranges.append((index, start - low + HIGH_MEMORY, end - low + HIGH_MEMORY))
        offset = end
    return ranges


def ram_lines(machine: Machine, version: tuple[int, int]) -> list[str]:
    ranges = guest_ranges(machine) if version >= GUEST_ADDRESSES_SINCE else block_ranges(machine)
    return [f"ram={node} {start:#x} {end:#x}" for node, start, end in ranges]


def cache_lines(machine: Machine) -> list[str]:
    """The first level, a second level of each CPU, and the last level of each node."""
    levels = {cache["level"]: cache for cache in machine.cache}
    last = levels.pop(max(levels))
    lines = [f"line={last['line_bytes']}"]
    if 1 in levels:
        lines.append(f"l1={levels[1]['size']}")
    if 2 in levels:
        second = levels[2]
        lines.append(f"l2={second['size']} {second['ways']} {second.get('latency_ns', 0)}")
    return [*lines, f"llc={last['size']} {last['ways']} {last.get('latency_ns', 0)}"]


def configuration(machine: Machine, shared: Path, version: tuple[int, int]) -> str:
    """The plugin's file; experiments/lab/plugin/config.h says what its lines mean."""
    node_of = {cpu: index for index, node in enumerate(machine.nodes) for cpu in node.cpus}
    mhz, per_cycle = machine.core_speed
    lines = [f"shared={shared}", "cpu_node=" + ",".join(str(node_of[cpu]) for cpu in range(machine.cpus)),
             f"core={mhz} {per_cycle}", *ram_lines(machine, version), *cache_lines(machine)]
    return "\n".join(lines) + "\n" + machine.model_text


def qemu_options(machine: Machine, folder: Path) -> list[str]:
    """Options for QEMU; the files that they name are written into `folder`."""
    shared, config = folder / "simulation.shared", folder / "simulation.conf"
    with shared.open("wb") as file:
        file.truncate(SHARED_BYTES)
    config.write_text(configuration(machine, shared, qemu_version()), encoding="utf-8")
    return ["-plugin", f"{HERE.plugin},config={config}",
            "-object", f"memory-backend-file,id=numaplace_lab,share=on,size={SHARED_BYTES},mem-path={shared}",
            "-device", "ivshmem-plain,memdev=numaplace_lab"]
