# SPDX-License-Identifier: GPL-2.0-only
"""The code blocks of the documents: found, saved and run as a reader would.

The words after the language say how a block is run:
    ```sh           runs anywhere
    ```sh boot      boots the lab
    ```sh lab       runs in a machine with two nodes and the module: inside the lab
    ```sh by-hand   not run; only its options are checked
    ```c file=NAME  saved as NAME
    ```text         the last line of output of the block before it; `text varies`: but for its figures

`python3 -m tests.documents PAGE..` runs them with the numaplace on PATH, those for two nodes in the lab.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FENCE = re.compile(r"^```(\w+)(?: ([^\n]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FIGURE = re.compile(r"\d+(\.\d+)?")
LINKED = re.compile(r"\]\(([\w-]+\.toml)\)")
END = "--- end of block ---"
HERE = ("bash", "-euc")
LAB = ("numaplace", "lab", "run", "--machine", "demo-2s", "--functional", "--timeout", "0", "--", *HERE)


@dataclass
class Block:
    where: str
    language: str
    kind: str
    text: str
    shown: str | None = None   # what the page prints after it
    varies: bool = False

    def get_last_line(self, output: str) -> tuple[str, str]:
        """Of what is shown and of what was printed, without figures if these vary."""
        lines = [" ".join(text.strip().splitlines()[-1].split()) if text.strip() else ""
                 for text in (self.shown or "", output)]
        return tuple(FIGURE.sub("#", line) if self.varies else line for line in lines)  # type: ignore[return-value]


def list_pages() -> list[Path]:
    return sorted([*ROOT.glob("*.md"), *(ROOT / "Documentation").rglob("*.md")])


def read_blocks(page: Path) -> list[Block]:
    found: list[Block] = []
    text = page.read_text(encoding="utf-8")
    for fence in FENCE.finditer(text):
        language, kind, body = fence[1], fence[2] or "", fence[3]
        line = text.count("\n", 0, fence.start()) + 1
        if language == "text" and found and found[-1].language == "sh":
            found[-1].shown, found[-1].varies = body, kind == "varies"
        else:
            found.append(Block(f"{page.relative_to(ROOT)}:{line}", language, kind, body))
    return found


def save_files(page: Path, folder: Path) -> None:
    """Those that the page shows, and those beside the page that it links to."""
    for name in LINKED.findall(page.read_text(encoding="utf-8")):
        shutil.copy(page.parent / name, folder)
    for block in read_blocks(page):
        if block.kind.startswith("file="):
            (folder / block.kind.removeprefix("file=")).write_text(block.text, encoding="utf-8")


def run_blocks(chosen: list[Block], folder: Path, timeout: int, shell: Sequence[str] = HERE,
               env: dict[str, str] | None = None) -> None:
    """One shell for all blocks of a page, which share variables and processes; each ends with a line of its own.
    Of a block that fails no process stays: it would keep the output open until the time is up."""
    script = "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n" + "".join(f"{block.text}echo '{END}'\n" for block in chosen)
    done = subprocess.run([*shell, script], cwd=folder, capture_output=True, text=True, timeout=timeout,
                          check=False, env=make_environment() if env is None else env)
    outputs = done.stdout.split(f"{END}\n")
    begun = chosen[min(len(outputs), len(chosen)) - 1]
    assert done.returncode == 0, f"{begun.where}:\n{done.stdout}{done.stderr}"
    for block, output in zip(chosen, outputs):
        if block.shown is not None:
            shown, printed = block.get_last_line(output)
            assert printed == shown, f"{block.where}: the page shows\n{shown}\nand the command printed\n{output}"


def make_environment() -> dict[str, str]:
    return os.environ | {"PATH": f"{ROOT / 'build'}:{os.environ['PATH']}", "POLICY_H": str(ROOT / "policies")}


COMMAND = re.compile(r"(?:(?<=^)|(?<=[\s/('\"]))numaplace ([a-z][a-z-]+)(?=((?:\\\n|[^\n|;&>#])*))", re.MULTILINE)
OPTION = re.compile(r"(?<!\S)(--[a-z][a-z-]*|-[a-zA-Z])(?![\w-])")
QUOTED = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"")


def list_options(text: str) -> list[tuple[list[str], str]]:
    """Each option in each `numaplace COMMAND ..` of a text, with the command's words."""
    found = []
    for name, rest in COMMAND.findall(text):
        rest = QUOTED.sub("''", rest).split(" -- ")[0]
        first = rest.split()[0] if rest.split() else "-"
        words = [name, first] if name in ("lab", "experiment") and first[0] != "-" else [name]
        found += [(words, option) for option in OPTION.findall(rest)]
    return found


def main(names: list[str]) -> None:
    env = os.environ | {"POLICY_H": "/usr/include/numaplace"}
    for page in (Path(name).resolve() for name in names):
        ran = 0
        with tempfile.TemporaryDirectory(dir=".") as name:
            save_files(page, Path(name))
            for kinds, shell in (({"", "boot"}, HERE), ({"lab"}, LAB)):
                chosen = [b for b in read_blocks(page) if b.language == "sh" and b.kind in kinds]
                if chosen:
                    run_blocks(chosen, Path(name), 3600, shell, env)
                ran += len(chosen)
        print(f"{page.relative_to(ROOT)}: {ran} blocks ran", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
