# SPDX-License-Identifier: GPL-2.0-only
"""The QEMU command of a machine. virtme-ng writes it; what the lab wants otherwise is changed here."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from experiments.lab import hmat, initramfs, qemu_program
from experiments.lab.errors import BOOT_FAILED, UNABLE, LabError
from experiments.lab.kernels import Kernel
from experiments.lab.machine import Machine
from experiments.lab.qmp import TIED
from experiments.lab.simulated import build_kernel_options as build_simulated_kernel_options
from experiments.paths import HERE, cache

OVERLAYS = ("/etc", "/home", "/opt", "/srv", "/usr", "/var", "/tmp")
# The guest sees the host's files; virtme-ng can only name paths of these characters.
NAMEABLE = re.compile(r"[A-Za-z0-9_+ /.-]+")
# Of a whole system's start, what a lab machine can do without: found first, they do nothing.
SKIPPED = Path(__file__).parent / "skipped"
MAX_CPUS = 255  # of q35 without an interrupt remapping device
MAX_KERNEL_OPTIONS = 2047  # COMMAND_LINE_SIZE of x86; a longer line is cut, not refused
GUEST_COMMAND = 'exec busybox sh "$lab_guest"'
# Five-level page tables make every TLB miss dearer under TCG, and byte-wise string instructions take an
# instruction a byte.
CPU_MODEL = "max,la57=off,erms=off,fsrm=off"
KERNEL_OPTIONS = (
    "numa_balancing=disable",  # it would move pages behind the experiments' back
    "oops=panic",              # a broken kernel must end the run, not colour its results
    # A busy host stops a CPU for longer than the 21 s after which the kernel suspects itself.
    "rcupdate.rcu_cpu_stall_timeout=60",
    # Measured, each CPU's delay loop fails over and over on a busy host: 48 of them did not come up in five
    # minutes. Counted in TSC ticks of a jiffy of 4 ms; of a clock faster than the host's, delays only get longer.
    "lpj=16000000",
    "mitigations=off", "audit=0", "nowatchdog", "no_timer_check", "tsc=reliable",
    # A program lies where the last one lay: a layout that does not change is measured repeatably.
    "norandmaps",
    "random.trust_cpu=on", "cryptomgr.notests", "loglevel=7",
)
# A kernel that checks itself stops at the first thing that it finds; what comes after says less.
DEBUG_KERNEL_OPTIONS = ("panic_on_warn=1", "page_poison=1")


@dataclass
class Files:
    """Says where the host's side of a run is kept."""
    run: Path

    @property
    def initramfs(self) -> Path:
        return self.run / "initramfs"

    @property
    def environment(self) -> Path:
        return self.run / "environment"

    @property
    def console(self) -> Path:
        return self.run / "console"


def check_host(machine: Machine, cwd: Path):
    """Raises LabError where this computer cannot run the machine from the folder `cwd`."""
    qemu_program.find()
    find_virtme_run()
    if not NAMEABLE.fullmatch(str(cwd)) or cwd == Path("/"):
        raise LabError(UNABLE, f"the lab cannot make the current folder '{cwd}' writable: run it from "
                       "a folder whose path has only letters, digits, blanks and _+.-")
    if machine.cpus > MAX_CPUS:
        raise LabError(UNABLE, f"machine '{machine.name}' has {machine.cpus} CPUs and QEMU's q35 takes "
                       f"{MAX_CPUS}: choose a smaller one")
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if machine.memory > total:
        raise LabError(UNABLE, f"machine '{machine.name}' has {machine.memory >> 20} MiB of memory "
                       f"and this computer {total >> 20} MiB: choose a smaller one")


def check_writable(cwd: Path):
    """Raises LabError where the folder cannot be written: else the command would be the first to say so, after the boot."""
    if not os.access(cwd, os.W_OK, effective_ids=True):
        raise LabError(UNABLE, f"the current folder '{cwd}' cannot be written by user {os.geteuid()}, and a command in the "
                       "machine may write there: make it writable, or run the lab from another folder")


def find_virtme_run() -> str:
    """Finds virtme-ng's program: of the environment that this runs in, or of `numaplace lab setup`; not Debian 13's, which has no init that
    runs a script without udev. LabError: there is none."""
    folders = [Path(sys.executable).parent, cache() / "venv/bin"]
    found = shutil.which("virtme-run", path=os.pathsep.join(map(str, folders)))
    if not found:
        raise LabError(UNABLE, f"virtme-run of virtme-ng is not installed, and it boots the lab: {HERE.remedy('run make setup')}")
    return found


def build_machine_options(machine: Machine) -> list[str]:
    """Builds virtme-ng's options for memory, CPUs, nodes and their distances."""
    options = ["--memory", f"{machine.memory >> 20}M", "--cpus", format_topology(machine)]
    for node in machine.nodes:
        memory = f"{node.memory >> 20}M" if node.memory else "0"
        cpus = "".join(f",cpus={cpu}" for cpu in node.cpus)
        options += ["--numa", memory + cpus]
    for node, row in enumerate(machine.distances):
        for other, distance in enumerate(row):
            if node != other:
                options += ["--numa-distance", f"src={node},dst={other},val={distance}"]
    return options


def format_topology(machine: Machine) -> str:
    """Formats the CPUs as sockets of equal size: one for each last-level cache where these divide the nodes, else for each node where nodes
    are alike, else for each CPU. Of QEMU's processor a guest knows no other groups."""
    sizes = {len(node.cpus) for node in machine.nodes if node.cpus}
    in_order = [cpu for node in machine.nodes for cpu in node.cpus] == list(range(machine.cpus))
    of_node = sizes.pop() if len(sizes) == 1 and in_order else 1
    of_cache = machine.cache[-1]["shared_by_cpus"] if machine.cache else of_node
    cores = of_cache if of_node % of_cache == 0 else of_node  # of a socket
    return f"{machine.cpus},sockets={machine.cpus // cores},cores={cores},threads=1"


def build_command(machine: Machine, kernel: Kernel, files: Files, cwd: Path, guest: Path,
                  timed: bool = False, more_kernel_options: tuple[str, ...] = (), *, counts: bool = False) -> list[str]:
    """Has virtme-ng make QEMU's command, and writes the run's initramfs and environment; returns QEMU and its arguments.

    The guest runs the script `guest`, with `cwd` and the run's files writable. timed: with simulated time, in which with `counts` accesses
    take none. LabError: virtme-ng fails, or words are too long."""
    kernel_options = (*KERNEL_OPTIONS, *(DEBUG_KERNEL_OPTIONS if kernel.ends_at_report else ()),
                      *(build_simulated_kernel_options(machine) if timed else ()),
                      f"numaplace_lab={machine.name},{'timed' if timed and not counts else 'functional'}",
                      *[f"numaplace_lab_set={','.join(machine.changes)}"] * bool(machine.changes), *more_kernel_options)
    argv = [*TIED, find_virtme_run(), "--qemu-bin", qemu_program.find(), "--kimg", str(kernel.image), "--mods", "auto",
            "--disable-kvm", "--disable-microvm", "--force-9p", "--name", machine.name.replace("/", "-"),
            *build_machine_options(machine), "--rwdir", str(cwd), "--rwdir", str(files.run), "--cwd", str(cwd),
            *(word for folder in OVERLAYS for word in ("--overlay-rwdir", folder)),
            *(word for option in kernel_options for word in ("--kopt", option)),
            "--force-initramfs", "--save-initramfs", str(files.initramfs),
            "--script-sh", GUEST_COMMAND, "--dry-run", "--show-command"]
    made = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    lines = made.stdout.strip().splitlines()
    if made.returncode != 0 or not lines:
        why = (made.stderr.strip() or made.stdout.strip() or f"status {made.returncode}").splitlines()[-1]
        raise LabError(BOOT_FAILED, f"virtme-ng cannot prepare machine '{machine.name}': {why}")
    argv = [*add_initiators(machine, remove_script_ports(shlex.split(lines[-1]))), *hmat.build_options(machine)]
    at = argv.index("-append") + 1
    argv[at], environment = initramfs.divide_options(argv[at])
    if len(argv[at].encode()) > MAX_KERNEL_OPTIONS:
        raise LabError(UNABLE, f"the path {kernel.image} or the --kernel-options are too long for a kernel's command "
                       "line: use shorter ones")
    initramfs.complete_initramfs(files.initramfs, kernel.find_drivers("virtio_console"))
    environment |= {"PATH": f"{SKIPPED}:/usr/sbin:/usr/bin:/sbin:/bin", "lab_guest": str(guest), "lab_run": str(files.run)}
    files.environment.write_text(initramfs.format_environment(environment), encoding="utf-8")
    return argv


def add_initiators(machine: Machine, argv: list[str]) -> list[str]:
    """Adds the initiator of hmat.format_initiator() to the nodes' options, which virtme-ng writes in their order."""
    nodes = iter(range(len(machine.nodes)))
    return [word + hmat.format_initiator(machine, next(nodes)) if word.startswith("node,") else word for word in argv]


def remove_script_ports(argv: list[str]) -> list[str]:
    """Removes virtme-ng's channels for a script: its init finds them only where udev runs."""
    def is_script_port(option: str, value: str | None) -> bool:
        return (option == "-device" and value.startswith(("virtio-serial", "virtserialport"))
                or option == "-chardev" and ",id=console," not in value)

    return drop_options(argv, is_script_port)


def drop_options(words: list[str], is_dropped: Callable[[str, str | None], bool]) -> list[str]:
    """Returns a command without the options, and their values, of which `is_dropped` is true."""
    return [word for pair in pair_options(words) if not is_dropped(*pair) for word in pair if word is not None]


def pair_options(words: list[str]) -> list[tuple[str, str | None]]:
    """Pairs each option of a command with its value, None where it has none; no option of QEMU's has two. A lone word is an option."""
    result: list[tuple[str, str | None]] = []
    for word in words:
        option, value = result[-1] if result else ("", "")
        if value is None and not word.startswith("-"):
            result[-1] = (option, word)
        else:
            result.append((word, None))
    return result


@dataclass
class Streams:
    """Names the files that QEMU opens: the command's output, its input, the sizes of its terminal, what a machine that waits is told."""
    out: str = os.devnull
    err: str = os.devnull
    input: str = os.devnull
    size: str = os.devnull
    go: str = os.devnull


NOWHERE = Streams()


def adapt_command(argv: list[str], files: Files, streams: Streams = NOWHERE) -> list[str]:
    """Returns QEMU's command with a device for the kernel's console and one for each of `streams`: every machine has the same devices."""
    argv = list(argv)
    for index, word in enumerate(argv):
        if word.startswith("file,id=console,"):
            argv[index] = f"file,id=console,path={files.console},input-path={streams.go},append=on"
    argv[argv.index("-cpu") + 1] = CPU_MODEL
    argv += ["-device", "virtio-serial-pci"]
    for name, to in (("out", f"path={streams.out}"), ("err", f"path={streams.err}"),
                     ("in", f"path={os.devnull},input-path={streams.input}"),
                     ("size", f"path={os.devnull},input-path={streams.size}")):
        argv += ["-chardev", f"file,id={name},{to}", "-device", f"virtserialport,name=numaplace.{name},chardev={name}"]
    return argv
