# SPDX-License-Identifier: GPL-2.0-only
"""Simulated time: what QEMU, its plugin and the guest's kernel are told so that a machine has its own time."""

from pathlib import Path

from experiments.lab import qemu_program
from experiments.lab.errors import UNABLE, USAGE, LabError
from experiments.lab.kernels import Kernel
from experiments.lab.machine import Machine
from experiments.paths import HERE

SHARED_BYTES = 1 << 20
INTERFACE_7 = (11, 1)  # the QEMU from which on plugins are of that interface; those before take 4
NOW_OFFSET = 24  # of now_ns in experiments/lab/guest/shared.h
AHEAD_NS = 1_000_000  # more than a CPU runs between two updates of that
JIFFIES_PER_S = 250  # CONFIG_HZ of Debian's kernels
# q35 has memory below this, and goes on at 4 GiB, when it has more than fits under the first
LOW_MEMORY_LIMIT, LOW_MEMORY, HIGH_MEMORY = 0xB0000000, 0x80000000, 1 << 32


def get_guest_module(kernel: Kernel) -> Path:
    return kernel.module.with_name("numaplace_lab.ko")


def get_plugin(qemu: str) -> Path:
    """Returns the plugin that is built for the interface of this QEMU."""
    return HERE.plugin.with_name("plugin-7.so") if qemu_program.read_version(qemu) >= INTERFACE_7 else HERE.plugin


def build_kernel_options(machine: Machine) -> list[str]:
    """Builds options by which the TSC's frequency and the delay loop's are known; nothing is measured, and no CPU waits for
    hardware to come up."""
    mhz, _ = machine.core_speed
    return [f"tsc_early_khz={mhz * 1000:.0f}", f"lpj={mhz * 1e6 / JIFFIES_PER_S:.0f}", "cpu_init_udelay=0"]


def check_simulation(machine: Machine, kernel: Kernel):
    """Checks that the machine's time can be simulated, and plugin and guest module are built. LabError: it cannot, or they are not."""
    if not machine.plugin:
        raise LabError(USAGE, f"machine '{machine.name}' has no [model] or no [[cache]], so its time cannot "
                       "be simulated: run it with --functional")
    for path in (get_plugin(qemu_program.find()), get_guest_module(kernel)):
        if not path.exists():
            raise LabError(UNABLE, f"{path} is not built: {kernel.build_remedy('lab-simulation')}")


def list_guest_ranges(machine: Machine) -> list[tuple[int, int, int]]:
    """Lists ranges (node, start, end) of physical addresses of the guest's memory, around the hole below 4 GiB; none is empty."""
    low = LOW_MEMORY if machine.memory >= LOW_MEMORY_LIMIT else machine.memory  # bytes below 4 GiB
    ranges, offset = [], 0
    for index, node in enumerate(machine.nodes):
        start, offset = offset, offset + node.memory
        if start < low and node.memory:
            ranges.append((index, start, min(offset, low)))
        if offset > low and node.memory:
            ranges.append((index, max(start - low, 0) + HIGH_MEMORY, offset - low + HIGH_MEMORY))
    return ranges


def build_configuration(machine: Machine, memory: Path) -> str:
    """Builds the text of the plugin's file; plugin/config.h has its lines. memory: the file that it shares with the guest."""
    ranges = [f"ram={node} {start:#x} {end:#x}\n" for node, start, end in list_guest_ranges(machine)]
    return f"shared={memory}\n{''.join(ranges)}{machine.plugin}"


def read_common_lines(folder: Path) -> str:
    """Reads the plugin's file without what differs from run to run, or means nothing until the untimed start ends."""
    lines = (folder / "simulation.conf").read_text(encoding="utf-8").replace(str(folder), "").splitlines()
    return "\n".join(line for line in lines if not line.startswith(("counts=", "profile=", "follow=")))


def get_shared_path(folder: Path) -> Path:
    return folder / "simulation.shared"


def read_clock(folder: Path) -> int:
    """Reads the guest's clock of a stopped machine, in ns, plus AHEAD_NS, as it may be further than that; 0 without simulated time."""
    if not get_shared_path(folder).exists():
        return 0
    with get_shared_path(folder).open("rb") as file:
        file.seek(NOW_OFFSET)
        return int.from_bytes(file.read(8), "little") + AHEAD_NS


def set_begin(folder: Path, ns: int):
    """Adds to the plugin's file at which ns the guest's clock begins; nothing where there is no such file."""
    config = folder / "simulation.conf"
    if config.exists():
        with config.open("a", encoding="utf-8") as file:
            file.write(f"start={ns}\n")


def get_profile_path(folder: Path) -> Path:
    return folder / "profile"


def build_clock_options(folder: Path, qemu: str, follow: bool) -> list[str]:
    """Builds options for a QEMU whose times mean nothing: its clock skips the time in which nothing runs.

    follow: it does not, as the command has an input to wait for. Empty where the plugin is not built, or for a QEMU that is
    too old for it.
    """
    if not get_plugin(qemu).exists() or qemu_program.read_version(qemu) < qemu_program.OLDEST:
        return []
    return write_plugin_files(qemu, folder, f"clock=1\nshared={get_shared_path(folder)}\n" + "follow=1\n" * follow)


def write_plugin_files(qemu: str, folder: Path, config: str) -> list[str]:
    """Writes what the plugin reads, `config`, and the memory that it shares with this process. Returns QEMU's options for both."""
    with get_shared_path(folder).open("wb") as file:
        file.truncate(SHARED_BYTES)
    (folder / "simulation.conf").write_text(config, encoding="utf-8")
    return ["-rtc", "clock=vm", "-plugin", f"{get_plugin(qemu)},config={folder / 'simulation.conf'}"]


def build_qemu_options(machine: Machine, folder: Path, *, exact: bool = False, counts: bool = False, profiles: bool = False,
                 follow: bool = False) -> list[str]:
    """Builds options for QEMU, and writes the files that they name into `folder`. The flags are lines of that name in plugin/config.h."""
    memory = get_shared_path(folder)
    lines = ["exact=1"] * exact + ["counts=1"] * counts + [f"profile={get_profile_path(folder)}"] * profiles + ["follow=1"] * follow
    return [*write_plugin_files(qemu_program.find(), folder, build_configuration(machine, memory) + "".join(f"{line}\n" for line in lines)),
            "-object", f"memory-backend-file,id=numaplace_lab,share=on,size={SHARED_BYTES},mem-path={memory}",
            "-device", "ivshmem-plain,memdev=numaplace_lab,master=on"]
