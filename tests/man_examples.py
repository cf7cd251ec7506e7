# SPDX-License-Identifier: GPL-2.0-only
"""The examples of the manual pages, run inside the lab: two nodes and the module.

`python3 man_examples.py [FOLDER]` runs those of the pages in FOLDER (/usr/share/man/man1) with the numaplace on PATH.
Process 4711 of the pages is a program with 16 MiB in the cgroup of redis.service, 4712 its second thread.
"""
import gzip
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# What cannot run there, by command; of every other command all examples run.
ELSEWHERE = {
    "calibrate-machine": "needs simulated time; `make bench-calibrate`",
    "campaign": "needs other machines; `make check-fleet`",
    "cancel": "needs a job that still runs; test_progress.py",
    "counters": "needs counters; test_simulation.py",
    "daemon": "does not end; test_daemon.py",
    "experiment": "boots the lab; test_documents.py",
    "jobs": "is watched without end; test_progress.py",
    "judge": "boots the lab; test_judge_lab.py",
    "lab": "boots the lab; test_documents.py",
    "measure-penalty": "needs counters; test_simulation.py",
    "top": "is for a terminal; test_output.py",
    "worth": "boots the lab; test_worth.py",
    "trace": "needs a kernel with BTF and seconds of load; check_trace.py",
}
PAGE = re.compile(r"numaplace(?:-(?P<command>[\w-]+))?\.1(?:\.gz)?$")
EXAMPLE = re.compile(r"^\.RS\n(.*?)^\.RE", re.MULTILINE | re.DOTALL)
MACHINES = [folder / "demo-2s.toml" for folder in (Path("/usr/share/numaplace/machines"),
                                                   Path(__file__).resolve().parents[1] / "experiments/lab/machines")]
GROUP = Path("/sys/fs/cgroup/system.slice/redis.service")
TARGET = """
import threading
memory = bytearray(16 << 20)
memory[::4096] = b"1" * (len(memory) >> 12)
threading.Thread(target=threading.Event().wait).start()
print("ready", flush=True)
threading.Event().wait()
"""
TASKS = """
[[task]]
name = "chase"
node = 0
memory = { "1" = "64 MiB" }
penalty = 1.4
mpki = 20
"""


def read_examples(page: Path) -> list[str]:
    text = (gzip.decompress(page.read_bytes()) if page.suffix == ".gz" else page.read_bytes()).decode()
    section = re.search(r"^\.SH \"?EXAMPLES\"?\n(.*?)(?=^\.SH )", text + ".SH \n", re.MULTILINE | re.DOTALL)
    assert section, f"{page} has no examples"
    found = [block.replace("\\-", "-").replace("\\(aq", "'").strip() for block in EXAMPLE.findall(section[1])]
    assert found, f"{page} has no examples"
    return found


def list_pages(folder: Path) -> Iterator[tuple[str, Path]]:
    """The command, "" for numaplace itself, and its page; a page with a command of two words belongs to the first."""
    for page in sorted(folder.glob("numaplace*.1*")):
        if (named := PAGE.match(page.name)) and (command := named["command"] or "") != "all":
            yield next((c for c in ELSEWHERE if command == c or command.startswith(f"{c}-")), command), page


@contextmanager
def start_target() -> Iterator[int]:
    """Its pid, in the cgroup of the service."""
    GROUP.mkdir(parents=True, exist_ok=True)
    with subprocess.Popen([sys.executable, "-c", TARGET], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout and process.stdout.readline() == "ready\n"
            (GROUP / "cgroup.procs").write_text(str(process.pid), encoding="ascii")
            yield process.pid
        finally:
            process.kill()


def find_area(pid: int) -> str:
    """The target's largest anonymous area."""
    lines = [line.split() for line in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines()]
    return max((words[0] for words in lines if len(words) == 5),
               key=lambda span: int(span.split("-")[1], 16) - int(span.split("-")[0], 16))


def fill_example(example: str, pid: int) -> str:
    """With the names of this machine in it."""
    thread = max(os.listdir(f"/proc/{pid}/task"), key=int)
    names = {r"\b4711\b": str(pid), r"\b4712\b": thread, r"\b7f0000000000-7f0000200000\b": find_area(pid),
             r"\balice\b": "root"}
    for name, here in names.items():
        example = re.sub(name, here, example)
    return example


def prepare_files(folder: Path, pid: int) -> None:
    """The files that the pages name."""
    for name in ("program", "server"):
        (folder / name).write_text("#!/bin/sh\nexec sleep 0.2\n", encoding="ascii")
        (folder / name).chmod(0o755)
    (folder / "tasks.toml").write_text(TASKS, encoding="ascii")
    (folder / "mine.toml").write_bytes(next(m for m in MACHINES if m.exists()).read_bytes())
    subprocess.run("numaplace ps --json > snapshot.json && "
                   f"numaplace plan --policy maximum-local --sample 0 --json {pid} > plan.json",
                   shell=True, check=True, cwd=folder)


def run_examples(page: Path, folder: Path) -> int:
    """How many of a page ran, one after the other; a policy of one's own is in the tutorial."""
    wanted = [e for e in read_examples(page) if "./mine.so" not in e]
    with start_target() as pid:
        prepare_files(folder, pid)
        if "restore" in page.name:
            subprocess.run(["numaplace", "place", str(pid), "--cpus", "0"], check=True, stdout=subprocess.DEVNULL)
        for example in wanted:
            done = subprocess.run(["bash", "-o", "pipefail", "-euc", fill_example(example, pid)], cwd=folder, text=True,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=False)
            assert done.returncode == 0, f"{page.name}: {example}\n{done.stdout}{done.stderr}"
        subprocess.run(["numaplace", "restore", "--all"], check=False, capture_output=True)
    return len(wanted)


def main(folder: Path) -> None:
    for command, page in list_pages(folder):
        if command in ELSEWHERE:
            continue
        with tempfile.TemporaryDirectory() as name:
            print(f"{page.name}: {run_examples(page, Path(name))} examples ran", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/man/man1"))
