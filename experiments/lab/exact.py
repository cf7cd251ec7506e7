# SPDX-License-Identifier: GPL-2.0-only
"""lab run --exact: the same command gives the same output, console and counters, to the bit.

One thread of QEMU's runs all CPUs, and nothing in the machine has a time of the host's: the command, the files that it names
and the libraries that they need are in the machine's memory before it starts.
"""

import hashlib
import os
import shlex
import shutil
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from experiments.lab import boot, console, initramfs, qemu, qemu_program, simulated
from experiments.lab.errors import UNABLE, USAGE, LabError, print_message
from experiments.lab.qmp import run_qemu
from experiments.lab.run_folder import make_run_folder

EXACT_QEMU = (10, 0)  # the newest whose runs were seen to repeat; those of 11.1 do not
INIT = Path(__file__).with_name("exact.sh")
BEGINS, ENDS = "numaplace lab: begins", "numaplace lab: ends"
# Nothing of these is the host's: no true random numbers, and a date.
CPU_MODEL = f"{qemu.CPU_MODEL},rdrand=off,rdseed=off"
OPTIONS = ("-accel", "tcg,thread=single", "-seed", "1", "-rtc", "base=2026-01-01,clock=vm")
OF_THE_HOST = ("-fsdev", "-rtc")
HEAD_BYTES = 256  # of a program: a script's first line, as the kernel reads it
STREAMS = ("out", "err", "counters")
FOLDERS = tuple(map(Path, ("/bin", "/dev", "/proc", "/sys", "/tmp")))


@dataclass
class Result:
    """Holds what an exact run has left."""
    out: bytes
    err: bytes
    counters: bytes
    status: int
    digest: str  # SHA-256 of all that, and of the console until the command's end


def find_interpreters(line: str) -> list[Path]:
    """Finds what runs a script: the program of its first line, after "#!", and what that starts where it is env(1)."""
    program, *words = line.split() or [""]
    started = next(filter(None, map(shutil.which, words)), None) if Path(program).name == "env" else None
    return [Path(path) for path in (program, started) if path]


def find_libraries(program: Path) -> list[Path]:
    """Lists loader and libraries of a dynamic program, by the names under which they are looked for; of a script its interpreters.

    LabError: the program cannot be read."""
    try:
        with program.open("rb") as file:
            begin = file.read(HEAD_BYTES)
    except OSError as error:
        raise LabError(USAGE, f"'{program}' cannot be taken into the machine: {error.strerror}: do not name it, or make it readable") from error
    if begin.startswith(b"#!"):
        return find_interpreters(os.fsdecode(begin[2:].split(b"\n")[0]))
    if not begin.startswith(b"\x7fELF"):
        return []
    output = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return [Path(word) for line in output.splitlines() for word in line.split() if word.startswith("/")]


def list_files(path: Path) -> list[Path]:
    """Lists the files of a folder, those of linked folders by the link's name, or the file itself."""
    if not path.is_dir():
        return [path]
    files = []
    for folder, folders, names in os.walk(path, followlinks=True):
        walked = {parent.resolve() for parent in (Path(folder), *Path(folder).parents)}
        folders[:] = [name for name in folders if (Path(folder) / name).resolve() not in walked]  # but for links that go round
        files += [Path(folder) / name for name in names]
    return sorted(files)


def find_needed(command: list[str], asked_for: list[Path]) -> list[Path]:
    """Lists files, by absolute paths: the command's program, each further word that is a file's path, `asked_for`, and what these need.

    LabError: the program or a path of `asked_for` is missing, or one cannot be read. Another that is missing is left out."""
    program = shutil.which(command[0])
    if not program:
        raise LabError(USAGE, f"there is no program '{command[0]}' to take into the machine: give its path")
    missing = next((path for path in asked_for if not path.exists()), None)
    if missing:
        raise LabError(USAGE, f"there is no '{missing}' to take into the machine: correct --file")
    named = [Path(program), *(Path(word) for word in command[1:] if os.path.isfile(word)), *asked_for]
    unread, needed = [file.absolute() for path in named for file in list_files(path)], set()
    while unread:
        path = unread.pop()
        if path in needed or not path.is_file():
            continue
        needed.add(path)
        unread += find_libraries(path)
    return sorted(needed)


def list_parents(paths: list[Path]) -> list[Path]:
    return sorted({parent for path in paths for parent in path.parents} - {Path("/")})


def build_entries(job: boot.Job, asked_for: list[Path], cwd: Path) -> list[bytes]:
    """Builds the entries of the archive that the machine has in its memory: first program, modules, the files of find_needed(). LabError: as
    of that."""
    settings = initramfs.format_environment({"lab_cwd": str(cwd), "lab_tasks": str(int(bool(job.profile)))})
    of_lab = {"init": (0o755, INIT.read_bytes()), "settings": (0o644, settings.encode()),
              "command": (0o644, f"exec {shlex.join(boot.add_watch(job))}\n".encode()),
              "numaplace_lab.ko": (0o644, simulated.get_guest_module(job.kernel).read_bytes())}
    if job.module:
        of_lab["numaplace.ko"] = (0o644, job.module.read_bytes())
    files = find_needed(job.command, [*asked_for, *[boot.WATCH] * bool(job.profile)])
    of_command = {str(path): (path.stat().st_mode & 0o777, path.read_bytes()) for path in files}
    folders = dict.fromkeys([*FOLDERS, *list_parents([*files, cwd / "any"])])  # cwd too, as a parent; each after those above it
    return [*(initramfs.build_entry(str(path).lstrip("/"), stat.S_IFDIR | 0o755, b"") for path in folders),
            *(initramfs.build_entry(name.lstrip("/"), stat.S_IFREG | mode, content)
              for name, (mode, content) in (of_lab | of_command).items())]


def remove_host(argv: list[str], files: qemu.Files) -> list[str]:
    """Changes virtme-ng's command of QEMU to that of a machine without the host's files, which writes what read_result() reads."""
    kept = qemu.drop_options(argv, lambda option, value: option in OF_THE_HOST or (value or "").startswith("virtio-9p"))
    at = kept.index("-append") + 1
    kept[at] = " ".join(word for word in kept[at].split() if not word.startswith("virtme"))
    kept[kept.index("-cpu") + 1] = CPU_MODEL
    kept = [f"file,id=console,path={files.console}" if word.startswith("file,id=console,") else word for word in kept]
    return [*kept, *OPTIONS, "-chardev", f"file,id=result,path={files.run / 'result'}", "-serial", "chardev:result"]


def read_result(files: qemu.Files) -> Result | None:
    """Reads the run's result; None where the machine ended before the command.

    exact.sh writes, for each of STREAMS, its name and its bytes in a line and then these bytes; last a line with the status."""
    path = files.run / "result"
    rest = whole = path.read_bytes() if path.exists() else b""
    streams = {}
    for name in STREAMS:
        head, newline, rest = rest.partition(b"\n")
        if not newline or not head.startswith(name.encode() + b" "):
            return None
        size = int(head.split()[1])
        streams[name], rest = rest[:size], rest[size:]
    if not rest.startswith(b"status ") or not rest.endswith(b"\n"):
        return None
    console_text = files.console.read_bytes().partition(ENDS.encode())[0]
    return Result(**streams, status=int(rest.split()[1]), digest=hashlib.sha256(console_text + whole).hexdigest())


def run_exact(job: boot.Job, asked_for: list[Path]) -> int:
    """Runs the job in memory alone, with the files `asked_for`, and prints the output and the run's digest. Returns the exit status."""
    with boot.catch_signals():
        try:
            qemu.check_host(job.machine, Path.cwd())
            simulated.check_simulation(job.machine, job.kernel)
            check_qemu(qemu_program.find())
            result = run_in_memory(job, asked_for)
        except boot.Ended as ended:
            return ended.status
    for stream, data in ((sys.stdout, result.out), (sys.stderr, result.err)):
        stream.buffer.write(data)
        stream.flush()
    print_message(f"exact run {result.digest}")
    return result.status


def check_qemu(program: str):
    """Checks whether a run repeats exactly in this QEMU. LabError: nobody has seen that it does."""
    if qemu_program.read_version(program) > EXACT_QEMU:
        raise LabError(UNABLE, f"QEMU {qemu_program.read_full_version(program)} does not repeat a run exactly, as {EXACT_QEMU[0]}.{EXACT_QEMU[1]} "
                       "does: leave --exact out, or install that one")


def run_in_memory(job: boot.Job, asked_for: list[Path]) -> Result:
    """Runs the job in a machine that has everything in its memory. LabError where the command does not come to its end."""
    with make_run_folder() as folder:
        files = qemu.Files(folder)
        argv = qemu.build_command(job.machine, job.kernel, files, Path.cwd(), boot.GUEST, True, job.kernel_options, counts=job.counts)
        argv += simulated.build_qemu_options(job.machine, files.run, exact=True, counts=job.counts, profiles=bool(job.profile))
        initramfs.append_archive(files.initramfs, build_entries(job, asked_for, Path.cwd()))
        argv = remove_host(argv, files)
        try:
            with run_qemu(argv, files.run / "qemu") as (process, _):
                process.wait(job.timeout)
        except subprocess.TimeoutExpired:
            raise boot.build_time_limit_error(job, f"its run after '{console.find_last_line(files.run)}'") from None
        finally:
            boot.keep_console(job, files)
            boot.keep_profile(job, files)
        result = read_result(files)
        if not result:
            boot.check_plugin(job, files)
            raise console.build_failure(files.run, "command" if BEGINS in console.read_text(files.console) else "boot", job)
        return result
