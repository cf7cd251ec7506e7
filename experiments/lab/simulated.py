# SPDX-License-Identifier: GPL-2.0-only
"""The simulated mode: what QEMU, the kernel and the plugin are told so that the machine has its own time."""

from dataclasses import dataclass
from pathlib import Path

from experiments.lab.errors import UNABLE, USAGE, LabError
from experiments.lab.kernels import TOP, Kernel
from experiments.lab.machine import Machine

PLUGIN = TOP / "build" / "lab" / "plugin.so"
SHARED_BYTES = 1 << 20
# The host's timers must not be re-armed for a guest clock that runs slower than the host's.
KERNEL_OPTIONS = ("highres=off", "nohz=off")
# A string instruction is one guest instruction per element under TCG: fewer, larger elements.
CPU_FEATURES = "erms=off,fsrm=off"
L1_BYTES = 32 << 10
CORE = {"frequency_mhz": 2400.0, "instructions_per_cycle": 2.0, "outstanding_misses": 10.0}
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


@dataclass
class Simulation:
    machine: Machine
    kernel: Kernel

    @property
    def module(self) -> Path:
        return self.kernel.module.with_name("numaplace_lab.ko")


def size(text: str) -> int:
    number, unit = text.split() if " " in text else (text[:-3], text[-3:])
    return int(number) * UNITS[unit]


def ram_lines(machine: Machine) -> list[str]:
    """The addresses that the plugin interface of QEMU 7 gives each node's memory.

    They are not the guest's physical addresses: the offset of a block of memory among all blocks is added
    to its offset in the machine's memory, and for one node after the other the two are the same.
    """
    lines, offset = [], 0
    for index, node in enumerate(machine.nodes):
        if node.memory:
            lines.append(f"ram={index} {2 * offset:#x} {2 * offset + node.memory:#x}")
        offset += node.memory
    return lines


def cache_lines(machine: Machine) -> list[str]:
    levels = {cache["level"]: cache for cache in machine.cache}
    last = levels.pop(max(levels))
    lines = [f"line={last['line_bytes']}", f"l1={size(levels[1]['size']) if 1 in levels else L1_BYTES}"]
    if 2 in levels:
        lines.append(f"l2={size(levels[2]['size'])} {levels[2]['ways']} {levels[2].get('latency_ns', 4)}")
    return lines + [f"llc={size(last['size'])} {last['ways']} {last.get('latency_ns', 15)}"]


def model_lines(machine: Machine) -> list[str]:
    last = max(machine.cache, key=lambda cache: cache["level"])
    dram = {table["node"]: table for table in machine.dram}
    lines = [f"machine name={machine.name} line_bytes={last['line_bytes']}"]
    for index, node in enumerate(machine.nodes):
        words = [f"node {index}"]
        if node.cpus:
            words.append(f"core_outstanding={CORE['outstanding_misses']}")
            words.append(f"cache_latency_ns={last.get('latency_ns', 15)}")
        if index in dram:
            words.append(f"dram_bytes_per_s={dram[index]['bandwidth_mb_s'] * 1e6:.0f}")
            words.append(f"dram_latency_ns={dram[index]['latency_ns']}")
        lines.append(" ".join(words))
    for link in machine.link:
        if link["from"] < link["to"]:
            lines.append(f"link {link['from']} {link['to']} bytes_per_s={link['bandwidth_mb_s'] * 1e6:.0f} "
                         f"latency_ns={link['latency_ns']}")
    return lines


def check(simulation: Simulation):
    machine = simulation.machine
    if not machine.cache or not machine.dram:
        raise LabError(USAGE, f"machine '{machine.name}' describes no [[cache]] or no [[dram]], so its time "
                       "cannot be simulated: run it with --plain")
    for path in (PLUGIN, simulation.module):
        if not path.exists():
            raise LabError(UNABLE, f"{path} is not built: run make lab-simulation")


def configuration(machine: Machine, shared: Path) -> str:
    node_of = {cpu: index for index, node in enumerate(machine.nodes) for cpu in node.cpus}
    lines = [f"shared={shared}", "cpu_node=" + ",".join(str(node_of[cpu]) for cpu in range(machine.cpus)),
             f"core={CORE['frequency_mhz']} {CORE['instructions_per_cycle']}",
             *ram_lines(machine), *cache_lines(machine), *model_lines(machine)]
    return "".join(f"{line}\n" for line in lines)


def qemu_options(simulation: Simulation, folder: Path) -> list[str]:
    """Options for QEMU; the files that they name are written into `folder`."""
    shared, config = folder / "shared", folder / "plugin.conf"
    with shared.open("wb") as file:
        file.truncate(SHARED_BYTES)
    config.write_text(configuration(simulation.machine, shared), encoding="utf-8")
    return ["-plugin", f"{PLUGIN},config={config}",
            "-object", f"memory-backend-file,id=numaplace_lab,share=on,size={SHARED_BYTES},mem-path={shared}",
            "-device", "ivshmem-plain,memdev=numaplace_lab"]
