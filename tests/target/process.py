# SPDX-License-Identifier: GPL-2.0-only
"""The program of target.c, controlled through its standard input."""
import atexit
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[2] / "build" / "tests" / "target"
MIB_PAGES = 256


@functools.cache
def copy_for_everybody(program: Path) -> Path:
    """A copy that every user may run, wherever this tree lies and whoever may read it."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o755)
    copy = Path(shutil.copy(program, folder))
    copy.chmod(0o755)
    return copy


class TargetProcess:
    def __init__(self, *words: object, wrap: tuple = (), **kwargs) -> None:
        """wrap: a command that executes the program, or one whose child it is."""
        program = copy_for_everybody(PROGRAM) if "setpriv" in wrap or "user" in kwargs else PROGRAM
        self.process = subprocess.Popen([str(word) for word in (*wrap, program, *words)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, **kwargs)
        self.pid = self.process.pid
        word, *self.memory = self.answer().split()
        assert word == "ready"

    def answer(self) -> str:
        line = self.process.stdout.readline().strip()
        assert line, "the target has ended"
        return line

    def tell(self, words: str) -> None:
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()

    def ask(self, words: str) -> str:
        self.tell(words)
        return self.answer()

    def allocate(self, mib: int, kind: str = "anon") -> None:
        assert self.ask(f"allocate {kind} {mib * MIB_PAGES}") == "ok"

    def is_whole(self) -> bool:
        return self.ask("check") == "ok"
