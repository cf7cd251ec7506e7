# SPDX-License-Identifier: GPL-2.0-only
"""ReFrame runs a campaign: what it is told, and the command."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from experiments.campaign.machines import Machine
from experiments.errors import CannotError

TEST = Path(__file__).with_name("suite_test.py")


def settings(folder: Path, machines: list[Machine]) -> dict[str, Any]:
    """ReFrame's configuration: a partition for each machine, which has one job at a time."""
    log = {"type": "file", "name": str(folder / "reframe.log"), "level": "debug", "append": True,
           "format": "[%(asctime)s] %(levelname)s: %(check_info)s: %(message)s"}
    return {
        "systems": [{"name": "campaign", "hostnames": [".*"], "partitions": [_partition(m) for m in machines],
                     "stagedir": str(folder / "stage"), "outputdir": str(folder / "output")}],
        "environments": [{"name": "builtin"}],
        "general": [{"check_search_path": [str(TEST)], "keep_stage_files": True}],
        "storage": [{"enable": True, "backend": "sqlite", "sqlite_db_file": str(folder / "results.db")}],
        "logging": [{"handlers": [log], "handlers_perflog": []}],
    }


def _partition(machine: Machine) -> dict[str, Any]:
    options = {"sched_options": {"ssh_hosts": [machine.host]}} if machine.host else {}
    return {"name": machine.name, "scheduler": machine.scheduler, "launcher": "local", "environs": ["builtin"], "max_jobs": 1,
            "access": machine.access, **options}


def check():
    if importlib.util.find_spec("reframe") is None:
        raise CannotError(f"{sys.executable} has no package reframe, which runs campaigns: {sys.executable} -m pip install reframe-hpc")


def run(folder: Path, machines: list[Machine]) -> int:
    """Until each suite on each machine is done, skipped or failed; ReFrame's exit status."""
    (folder / "settings.json").write_text(json.dumps(settings(folder, machines), indent=1) + "\n", encoding="utf-8")
    environment = os.environ | {"NUMAPLACE_CAMPAIGN": str(folder), "RFM_REPORT_FILE": str(folder / "report.json")}
    command = [sys.executable, "-c", "from reframe.frontend.cli import main; main()"]
    return subprocess.run([*command, "--config-file", folder / "settings.json", "--checkpath", TEST, "--exec-policy=async", "--run"],
                          env=environment, cwd=folder, check=False).returncode
