# SPDX-License-Identifier: GPL-2.0-only
"""The tools of `make style` and the files that each reads. Their options are in .clang-format, .checkpatch.conf and
pyproject.toml."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from experiments.lab import kernels
from experiments.paths import HERE, cache

VENV = Path(sys.executable).parent
MODULES = HERE.modules / kernels.DEFAULT_SERIES
# What the modules are built with, so that C=2 compiles nothing anew; each warning of sparse is an error.
KBUILD = ["W=1", "KCFLAGS=-Werror", "CF=-Wsparse-error"]
C_CODE = (".c", ".h", ".cc")
KERNEL_CODE = ("kmod/", "experiments/lab/guest/", "experiments/commands/judge/slow/")
PROGRAMS = ("kmod/tests/storm.c", "kmod/tests/faults.c")  # of user space, for the module's tests
SHELL = (b"#!/bin/sh", b"#!/usr/bin/env bash", b"# shellcheck shell")


def is_c(name: str, _text: bytes) -> bool:
    return name.endswith(C_CODE)


def is_kernel_code(name: str, _text: bytes) -> bool:
    return name.endswith(C_CODE) and name.startswith(KERNEL_CODE) and not name.startswith(PROGRAMS)


def is_python(name: str, _text: bytes) -> bool:
    return name.endswith(".py")


def is_shell(_name: str, text: bytes) -> bool:
    return any(line.startswith(SHELL) for line in text.splitlines()[:2])


def is_text(_name: str, text: bytes) -> bool:
    return b"\0" not in text


@dataclass(frozen=True)
class Tool:
    reads: Callable[[str, bytes], bool]
    command: list[str | Path]


TOOLS = {
    "clang-format": Tool(is_c, [VENV / "clang-format", "--dry-run", "-Werror"]),
    "checkpatch": Tool(is_kernel_code, [cache() / "checkpatch" / "checkpatch.pl", "-f"]),
    "ruff": Tool(is_python, [VENV / "ruff", "check", "--no-cache", "--quiet", "--output-format=concise"]),
    # SC1091: a file that a script includes is read by itself.
    "shellcheck": Tool(is_shell, ["shellcheck", "--exclude=SC1091", "--format=gcc"]),
    "codespell": Tool(is_text, [VENV / "codespell"]),
}


def list_tracked(top: Path) -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=top, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split("\0") if name and (top / name).is_file()]


def list_findings(command: list[str | Path], folder: Path) -> str:
    """One a line; empty where there are none."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if not done.returncode:
        return ""
    return (done.stdout + done.stderr).strip() or f"{command[0]} ended with status {done.returncode}"


def run_tool(tool: str, top: Path, names: list[str]) -> str:
    chosen = [name for name in names if TOOLS[tool].reads(name, (top / name).read_bytes())]
    assert chosen, f"no file for {tool} in {top}"
    return list_findings([*TOOLS[tool].command, *chosen], top)


def run_sparse(sources: Path, *goals: str) -> str:
    """Of the kernel module in a folder, or of one object of it."""
    return list_findings([HERE.sources / "setup" / "kernel-build", kernels.DEFAULT_SERIES, f"M={sources.resolve()}", *KBUILD, *goals],
                         sources)
