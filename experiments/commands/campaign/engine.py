# SPDX-License-Identifier: GPL-2.0-only
"""ReFrame runs a campaign: what it is told, and the command."""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from experiments.commands.campaign import state
from experiments.commands.campaign.machines import Machine
from experiments.errors import CannotError, Interrupted, UsageError
from experiments.host.interrupts import stop_signals
from experiments.host.process import start

CHECK = Path(__file__).with_name("reframe_check.py")
PACKAGE = "reframe-hpc==4.10.4"
LOG = "reframe.out"
SETTINGS = "settings.yaml"  # in JSON, which is YAML
# Of ReFrame's output: a step that has ended, as "[       OK ] (1/6) Suite %suite=0 /84eb7ba6 @campaign:m0+numaplace".
ENDED = re.compile(r"\[ +(?:OK|FAIL|SKIP|ERROR) \] .*%suite=(\d+) .*@campaign:m(\d+)\+")


def settings(folder: Path, machines: list[Machine]) -> dict[str, Any]:
    """ReFrame's configuration: a partition for each machine, by its position, which has one job at a time."""
    log = {"type": "file", "name": str(folder / "reframe.log"), "level": "debug", "append": True,
           "format": "[%(asctime)s] %(levelname)s: %(check_info)s: %(message)s"}
    return {
        "systems": [{"name": "campaign", "hostnames": [".*"], "partitions": [_partition(k, m) for k, m in enumerate(machines)],
                     "stagedir": str(folder / "stage"), "outputdir": str(folder / "output")}],
        "environments": [{"name": "numaplace"}],
        "general": [{"check_search_path": [str(CHECK)], "keep_stage_files": True, "colorize": False}],
        "storage": [{"enable": True, "backend": "sqlite", "sqlite_db_file": str(folder / "results.db")}],
        "logging": [{"handlers": [log], "handlers_perflog": []}],
    }


def _partition(position: int, machine: Machine) -> dict[str, Any]:
    options = {"sched_options": {"ssh_hosts": [machine.host]}} if machine.host else {}
    return {"name": f"m{position}", "descr": machine.name, "scheduler": machine.scheduler, "launcher": "local",
            "environs": ["numaplace"], "max_jobs": 1, "access": machine.access, **options}


def check() -> None:
    if importlib.util.find_spec("reframe") is None:
        raise CannotError(f"{sys.executable} has no package reframe, which runs campaigns: {sys.executable} -m pip install "
                          f"{PACKAGE}, in an environment or with --target FOLDER and PYTHONPATH=FOLDER")


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    with open(folder / ".lock", "a", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{folder} has a campaign that runs: numaplace campaign status shows it") from None
        yield


def run(folder: Path, machines: list[Machine], tell: Callable[[int, int], None]) -> None:
    """Until each suite on each machine is done, skipped or failed; tells the positions of each that has ended."""
    (folder / SETTINGS).write_text(json.dumps(settings(folder, machines), indent=1) + "\n", encoding="utf-8")
    (folder / state.REPORT).unlink(missing_ok=True)
    environment = os.environ | {"NUMAPLACE_CAMPAIGN": str(folder), "RFM_REPORT_FILE": str(folder / state.REPORT)}
    command = [sys.executable, "-u", "-c", "from reframe.frontend.cli import main; main()", "--config-file",
               folder / SETTINGS, "--checkpath", CHECK, "--exec-policy=async", "--run"]
    with stop_signals(), open(folder / LOG, "ab") as log:
        # In a session of its own: Ctrl-C reaches the campaign alone, and ReFrame once, which then ends its jobs.
        child = start(command, signal.SIGINT, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                      stderr=subprocess.STDOUT, start_new_session=True)
        try:
            for line in child.stdout:
                log.write(line)
                log.flush()
                if ended := ENDED.search(line.decode(errors="replace")):
                    tell(int(ended[2]), int(ended[1]))
        except Interrupted:
            child.send_signal(signal.SIGINT)
            log.writelines(child.stdout)
            raise
        finally:
            child.wait()
