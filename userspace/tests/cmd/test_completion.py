# SPDX-License-Identifier: GPL-2.0-only
"""Asks a real bash and a real zsh what they would complete."""
import os
import pty
import re
import select
import subprocess
import time
from pathlib import Path

import pytest

from tests import building

ROOT = Path(__file__).resolve().parents[3]
COMPLETION = ROOT / "userspace" / "completion"
PROMPT = "ready> "
ASKED = {  # what is typed: words that must be offered, a word that must not
    "numaplace pl": ({"place", "plan"}, "migrate"),
    "numaplace ca": ({"calibrate-machine", "campaign"}, "calibrate"),
    "numaplace campaign user": ({"userspace"}, "1"),
    "numaplace experiment try user": ({"userspace"}, "1"),
    "numaplace campaign resume user": ({"userspace"}, "1"),
    "numaplace plan --snapshot user": ({"userspace"}, "1"),
    "numaplace machine user": ({"userspace"}, "1"),
    "numaplace machine --from user": ({"userspace"}, "1"),
    "numaplace experiment unpack user": ({"userspace"}, "1"),
    "numaplace experiment unpack x.tar.gz --allowed user": ({"userspace"}, "1"),
    "numaplace experiment pack results x.tar.gz --sign user": ({"userspace"}, "1"),
    "numaplace migrate --": ({"--from", "--to", "--engine"}, "--cpunodebind"),
    "numaplace plan --policy ": ({"maximum-local", "n-mass", "none"}, "auto"),
    "numaplace trace ": ({"list", "faults", "migrations"}, "auto"),
    "numaplace migrate 1 --engine ": ({"auto", "module", "syscall"}, "none"),
}


@pytest.fixture(scope="module")
def path() -> str:
    building.build("build/numaplace", "build/numaplace-trace")
    return f"{ROOT / 'build'}:{os.environ['PATH']}"


@pytest.mark.parametrize("typed", ASKED)
def test_completion_bash(typed: str, path: str) -> None:
    offered, other = ASKED[typed]
    script = f"""
        source "{COMPLETION / 'numaplace.bash'}"
        COMP_WORDS=({typed.rstrip()}); [[ '{typed}' == *' ' ]] && COMP_WORDS+=('')
        COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
        _numaplace; printf '%s\\n' "${{COMPREPLY[@]}}" """
    run = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60,
                         env={**os.environ, "PATH": path}, check=False)
    words = set(run.stdout.split())
    assert run.stderr == "" and offered <= words and other not in words


class Shell:
    """A zsh at a terminal of its own."""

    def __init__(self, path: str, folder: Path):
        self.unread = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe("zsh", ["zsh", "-f", "-i"],
                       {"PATH": path, "TERM": "dumb", "HOME": str(folder), "PS1": PROMPT,
                        "COLUMNS": "200", "LINES": "100"})
        self.wait_for(PROMPT)
        self.type(f"unsetopt zle_bracketed_paste; fpath=(\"{COMPLETION}\" $fpath); "
                  f"autoload -U compinit; compinit -u -d {folder}/dump; setopt list_ambiguous; "
                  "LISTMAX=1000; echo se''t\n")
        self.wait_for("\nset\n")
        self.wait_for(PROMPT)

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def wait_for(self, text: str, limit: float = 60) -> str:
        """What the shell wrote up to text, which is taken from what it writes next."""
        end = time.monotonic() + limit
        while text not in self.unread:
            assert time.monotonic() < end, f"no {text!r} in {self.unread!r}"
            if select.select([self.fd], [], [], 1)[0]:
                self.unread += os.read(self.fd, 65536).decode(errors="replace").replace("\r", "")
        seen, _, self.unread = self.unread.partition(text)
        return seen + text

    def close(self) -> None:
        os.close(self.fd)
        os.waitpid(self.pid, 0)


@pytest.fixture(scope="module")
def zsh(path: str, tmp_path_factory: pytest.TempPathFactory):
    shell = Shell(path, tmp_path_factory.mktemp("zsh"))
    yield shell
    shell.close()


@pytest.mark.parametrize("typed", ASKED)
def test_completion_zsh(typed: str, zsh: Shell) -> None:
    offered, other = ASKED[typed]
    # ^D lists what could come; the line is thrown away and a marker printed after it.
    zsh.type(typed + "\x04")
    last = sorted(offered)[-1]
    shown = zsh.wait_for(last)
    zsh.type("\x15echo en''d\n")
    shown += zsh.wait_for("\nend\n")
    zsh.wait_for(PROMPT)
    words = set(re.findall(r"[\w-]+", shown.replace(typed, "")))
    assert offered <= words and other not in words
