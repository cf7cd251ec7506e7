# SPDX-License-Identifier: GPL-2.0-only
"""numaplace lab: the command line."""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from experiments.lab import boot, count_run, exact, kernels, machine, stdin, terminal
from experiments.lab.errors import READER_GONE, USAGE, LabError, print_message
from experiments.lab.own_kernel import find_own_kernel
from experiments.paths import HERE
from experiments.units import seconds

EPILOG = """\
The command runs as root in the current folder, which is writable; the rest of the file system is the host's,
and changes to it are lost. Exit status: the command's own (128+N when signal N ended it); 2 wrong usage or
machine file, 3 this computer cannot run the lab, 4 what --fail-if says is true, 124 the time limit, 125 the machine failed."""
SHELL_EPILOG = """\
The shell is $SHELL, or /bin/sh where that is missing. It runs as root in the current folder, which is writable; the
rest of the file system is the host's, and changes to it are lost. Exit status: as of numaplace lab run, with that of
the shell."""


SHAPES = "Shapes are machines too: 2x2 has two nodes of two CPUs, 4x2:512M memory of each, 2x2+1:1G a node without CPUs."


class Parser(argparse.ArgumentParser):
    def error(self, message: str):
        raise LabError(USAGE, f"{message}: see numaplace lab --help")


def build_parser() -> argparse.ArgumentParser:
    """Builds the parser of the command line: list, setup, run and shell. Wrong usage is a LabError."""
    top = Parser(prog="numaplace lab", description="NUMA machines on any Linux computer.")
    actions = top.add_subparsers(dest="action", required=True, parser_class=Parser)
    listing = actions.add_parser("list", help="the machines there are")
    listing.add_argument("--json", action="store_true")
    setup = actions.add_parser("setup", help="fetch what the lab boots, into the cache; builds its modules")
    setup.add_argument("--kernel", default=kernels.DEFAULT_SERIES, metavar="SERIES", choices=[*kernels.known_series(), "all"],
                       help=f"{', '.join(kernels.known_series())} or all; default %(default)s")
    run = actions.add_parser("run", help="run a command in a machine", epilog=EPILOG,
                             formatter_class=argparse.RawDescriptionHelpFormatter)
    mode = add_machine_options(run, machine={"required": True}, timeout=600)
    mode.add_argument("--exact", action="store_true",
                      help="timed, and the same command twice is the same to the bit: it and its files are in the machine's memory")
    run.add_argument("--file", action="append", default=[], type=Path, metavar="PATH",
                     help="of --exact: what the machine has in its memory beside the command and the files that it names")
    run.add_argument("--timeline", type=Path, metavar="FILE",
                     help="write what each CPU has counted there, as JSON, a line for each millisecond of the machine's time")
    count_run.add_options(run)
    run.add_argument("command", nargs="+", metavar="CMD", help="after --")
    shell = actions.add_parser("shell", help="an interactive shell in a machine", epilog=SHELL_EPILOG,
                               formatter_class=argparse.RawDescriptionHelpFormatter)
    add_machine_options(shell, machine={"default": "2x2"}, timeout=0)
    return top


def add_machine_options(parser: argparse.ArgumentParser, machine: dict[str, Any], timeout: float) -> Any:
    """Adds what run and shell share; returns the group of the modes. machine: keywords of --machine. timeout: default, s; 0: none."""
    parser.add_argument("--machine", metavar="NAME|SHAPE|FILE.toml", **machine,
                    help="a machine of numaplace lab list, or of a shape such as 2x2, 4x2:512M or 2x2+1:1G"
                    + "; default %(default)s" * ("default" in machine))
    parser.add_argument("--set", action="append", default=[], metavar="NAME=NUMBER",
                    help="another value for a number of the machine's [model], as numaplace machine --set; may be repeated")
    parser.add_argument("--scale", type=int, metavar="S",
                    help="1/S of the machine's speed, 1 to 64: work takes S times as long, and what the kernel does by its clock does "
                    "not; as --machine NAME/S")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--kernel", default=kernels.DEFAULT_SERIES, metavar="SERIES",
                       help=f"one of {', '.join(kernels.known_series())}; default %(default)s")
    which.add_argument("--kernel-image", type=Path, metavar="FILE", help="a kernel of your own: its bzImage")
    parser.add_argument("--modules", type=Path, metavar="DIR",
                    help="of --kernel-image: lib/modules/RELEASE, as make modules_install leaves it")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--timed", action="store_true", help="with the machine's caches, memory and time: the default")
    mode.add_argument("--functional", action="store_true", help="without them: faster, and its times mean nothing")
    parser.add_argument("--timeout", type=seconds, default=timeout, metavar="TIME",
                    help="for boot and command together, such as 90s; a bare number is seconds, 0 is none; default %(default)ss")
    parser.add_argument("--module", metavar="FILE", help="load this one; default the one built for SERIES")
    parser.add_argument("--console", metavar="FILE", help="keep there what the kernel says")
    parser.add_argument("--no-module", action="store_true", help="do not load numaplace.ko")
    parser.add_argument("--no-snapshot", action="store_true",
                    help="boot the machine, and do not restore it from the state that its first start has left in the cache")
    parser.add_argument("--kernel-option", action="append", default=[], metavar="NAME[=VALUE]",
                    help="of the guest's kernel, beside the lab's own; may be repeated")
    return mode


def list_machines(as_json: bool) -> int:
    """Prints the machines there are; returns 0."""
    if as_json:
        print(json.dumps({"machines": [machine.describe_machine(name) for name in machine.names()]}, indent=1), flush=True)
    else:
        for m in machine.list_machines():
            print(f"{m.name:18} {m.purpose:19} {len(m.nodes)} node{'s' * (len(m.nodes) > 1)}, {m.cpus} CPUs, {m.memory >> 20} MiB: {m.summary}")
        print(SHAPES)
    return 0


def set_up_lab(args: argparse.Namespace) -> int:
    """Fetches a series of kernels, or all, and builds what the lab needs, by setup/lab or make; returns their exit status."""
    series = kernels.known_series() if args.kernel == "all" else [args.kernel]
    tree = ["make", "-C", HERE.sources, kernels.choose_target(args.kernel), "tools", "modules"]
    done = subprocess.run([HERE.sources / "setup/lab", HERE.modules, *series] if HERE.installed else tree, check=False)
    return done.returncode


def choose_module(args: argparse.Namespace, kernel: kernels.Kernel) -> Path | None:
    """Chooses the numaplace.ko to load; None by --no-module, or, with a message, where it is not built. LabError: no such file."""
    if args.no_module:
        return None
    if args.module:
        if not Path(args.module).is_file():
            raise LabError(USAGE, f"there is no module file '{args.module}'")
        return Path(args.module).resolve()
    if not kernel.module.exists():
        print_message(f"runs without the module, as {kernel.module} is not built: {kernel.build_remedy('modules')}")
        return None
    return kernel.module


def choose_kernel(args: argparse.Namespace) -> kernels.Kernel:
    """Chooses the kernel of a series, or makes one of the user's image. LabError: it is not there, or options contradict."""
    if args.kernel_image:
        return find_own_kernel(args.kernel_image, args.modules)
    if args.modules:
        raise LabError(USAGE, "--modules belongs to a kernel of your own: give --kernel-image too")
    return kernels.find(args.kernel)


def check_output(what: str, path: Path):
    """Checks, before a run that would be lost, that a file can be written; makes it where it is missing. LabError: it cannot."""
    try:
        path.open("a").close()
    except OSError as error:
        raise LabError(USAGE, f"the {what} cannot be written to '{path}': {error.strerror}: give another file") from error


def make_job(args: argparse.Namespace, command: list[str]) -> boot.Job:
    """Makes the job of what `run` and `shell` share. LabError: machine, kernel or module is wrong, or the console cannot be written."""
    described = machine.find(f"{args.machine}/{args.scale}" if args.scale is not None else args.machine, args.set)
    kernel = choose_kernel(args)
    if args.console:
        check_output("console", Path(args.console))
    return boot.Job(described, kernel, command, choose_module(args, kernel), timeout=args.timeout or None, console=args.console,
                    timed=not args.functional, kernel_options=tuple(args.kernel_option), snapshot=not args.no_snapshot)


def run_command(args: argparse.Namespace) -> int:
    """Carries `lab run` out; returns the exit status. LabError: options contradict, or there is no status."""
    job = make_job(args, args.command)
    if args.file and not args.exact:
        raise LabError(USAGE, "--file belongs to a run whose files are all in its memory: give --exact too")
    if args.timeline and (args.functional or args.exact):
        raise LabError(USAGE, "--timeline shows the simulated time of a usual run: leave --functional and --exact out")
    if args.timeline:
        check_output("timeline", args.timeline)
    job.timeline, job.input = args.timeline, stdin.find_input()
    start = (lambda job: exact.run_exact(job, args.file)) if args.exact else boot.run_job
    return count_run.run_counted(job, args, start) if count_run.is_asked(args) else start(job)


def run_shell(args: argparse.Namespace) -> int:
    """Carries `lab shell` out; returns the shell's exit status. LabError: there is no terminal, or no status."""
    if not os.isatty(0) or not os.isatty(1):
        raise LabError(USAGE, "the shell needs a terminal as its input and output: use numaplace lab run for a command")
    job = make_job(args, terminal.build_shell_command())
    job.input, job.terminal = 0, True
    return boot.run_job(job)


def main(argv: list[str] | None = None) -> int:
    """Carries the command line out, sys.argv's without `argv`; returns the exit status. A LabError is printed."""
    if sys.stdin is None:  # closed: no other file may take its number
        os.open(os.devnull, os.O_RDONLY)
    try:
        args = build_parser().parse_args(argv)
        if args.action == "list":
            return list_machines(args.json)
        return {"setup": set_up_lab, "run": run_command, "shell": run_shell}[args.action](args)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the last flush complains
        return READER_GONE
    except LabError as error:
        print_message(str(error))
        return error.status
