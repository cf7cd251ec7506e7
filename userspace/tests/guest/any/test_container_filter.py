# SPDX-License-Identifier: GPL-2.0-only
"""Under the filter of system calls that container engines set, messages name the filter."""
import ctypes
import struct
import subprocess

from placed import TOOL

REFUSED = (237, 238, 239, 256, 279)  # mbind, set_mempolicy, get_mempolicy, migrate_pages, move_pages
LIBC = ctypes.CDLL(None, use_errno=True)


class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def set_filter() -> None:
    """EPERM for those, as Docker's default profile has it without CAP_SYS_NICE."""
    code = struct.pack("HBBI", 0x20, 0, 0, 0)
    for number in REFUSED:
        code += struct.pack("HBBI", 0x15, 0, 1, number) + struct.pack("HBBI", 0x06, 0, 0, 0x00050001)
    code += struct.pack("HBBI", 0x06, 0, 0, 0x7fff0000)
    program = Program(len(code) // 8, code)
    if LIBC.prctl(38, 1, 0, 0, 0) or LIBC.prctl(22, 2, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def refused(*words: object) -> str:
    done = subprocess.run([TOOL, *map(str, words)], preexec_fn=set_filter, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode and done.stderr.count("\n") == 1, done
    return done.stderr


def test_root_is_told_of_the_filter(start_target) -> None:
    """And nothing by libnuma."""
    target = start_target(cpus=0, memory=0)
    target.allocate(4)
    line = refused("migrate", target.pid, "--to", 1, "--engine", "syscall")
    assert "a filter of system calls (seccomp) refuses" in line and "--cap-add SYS_NICE" in line


def test_run_says_that_the_memory_policy_is_refused() -> None:
    line = refused("run", "--policy", "none", "--membind", 1, "--", "true")
    assert "the memory policy cannot be set: " in line and "--cap-add SYS_NICE" in line
