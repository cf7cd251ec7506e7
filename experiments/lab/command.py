# SPDX-License-Identifier: GPL-2.0-only
"""The words of `numaplace lab run`, for whoever starts a machine."""

from collections.abc import Sequence
from pathlib import Path

from experiments.paths import HERE

Word = str | Path | int


def build_words(machine: Word, command: Sequence[Word], options: Sequence[Word] = (), *, functional: bool = False,
                kernel: str | None = None, seconds: float = 0, programs: Path = HERE.programs) -> list[str]:
    """Returns the words that run a command in a machine: timed by default, with the default kernel.

    machine: a name, a shape or a file. options: further ones of `lab run`. seconds: the limit of boot and command together, of
    the host's time; 0 is none. programs: the folder with numaplace-lab."""
    words = [programs / "numaplace-lab", "run", "--machine", machine, *["--functional"] * functional,
             *(["--kernel", kernel] if kernel else []), "--timeout", f"{seconds:.0f}s", *options, "--", *command]
    return [str(word) for word in words]
