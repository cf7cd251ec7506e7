# SPDX-License-Identifier: GPL-2.0-only
"""MACHINES.toml: where a campaign's suites run.

    [box1]                    # a name of the user's, for folders and tables
    host = "box1.example"     # by ssh; left out: this computer
    ssh = ["-p", "2222"]      # more options of ssh
    folder = "numaplace"      # there, made where it is missing; default numaplace-campaign, in the home folder
    program = "numaplace"     # there; default numaplace
    lab = "demo-2s"           # a machine of the lab, on that host
    slurm = ["--partition=numa", "--nodelist=box1"]    # options of srun, in the place of host
"""

import re
import shlex
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.errors import UsageError

NAME = re.compile(r"[^/@.\x00-\x1f][^/@\x00-\x1f]*")
KEYS = {"host": str, "ssh": list, "folder": str, "program": str, "lab": str, "slurm": list}
# A host that is switched off ends its step within a minute.
NOTICES = ("-oConnectTimeout=15", "-oServerAliveInterval=15", "-oServerAliveCountMax=3")


@dataclass(frozen=True)
class Machine:
    name: str
    host: str = ""
    ssh: tuple[str, ...] = ()
    folder: str = "numaplace-campaign"
    program: str = "numaplace"
    lab: str = ""
    slurm: tuple[str, ...] = ()

    @property
    def remote(self) -> bool:
        return bool(self.host or self.slurm)

    @property
    def host_name(self) -> str:
        """Returns the name of the host, which has one piece at a time; "" is this computer."""
        return self.host or (self.name if self.slurm else "")

    def list_command(self, words: list[str], job: str) -> list[str]:
        """Returns the command line that runs these words on the machine, by ssh or as a job of Slurm's of this name."""
        if self.slurm:
            return ["srun", "--exclusive", "--ntasks=1", f"--job-name={job}", *self.slurm, *words]
        # Of an option that is given twice, ssh takes the first.
        return ["ssh", "-oBatchMode=yes", *self.ssh, *NOTICES, self.host, shlex.join(words)]


def read_machines(path: Path) -> list[Machine]:
    """Reads the machines of a file. UsageError: it cannot be read, names none, or one is wrong."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}: name a file of machines") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}: correct the file") from None
    if not tables:
        raise UsageError(f"{path} names no machine: give it a table for each, such as [box1]")
    return [_parse_machine(path, name, table) for name, table in tables.items()]


def _parse_machine(path: Path, name: str, table: Any) -> Machine:
    """Makes a machine from its table. UsageError, with the path: a key is unknown, of another type, empty or beside the wrong one."""
    if not NAME.fullmatch(name) or not isinstance(table, dict):
        raise UsageError(f"{path}: '{name}' is no machine: write [NAME], without / and @")
    for key, value in table.items():
        if key not in KEYS:
            raise UsageError(f"{path}: [{name}] has '{key}': it takes {', '.join(KEYS)}")
        if not isinstance(value, KEYS[key]) or (KEYS[key] is list and not all(isinstance(word, str) for word in value)):
            raise UsageError(f"{path}: [{name}] {key} is not a {'list of texts' if KEYS[key] is list else 'text'}")
        if not value:
            raise UsageError(f"{path}: [{name}] {key} is empty: leave it out")
    if "host" in table and "slurm" in table:
        raise UsageError(f"{path}: [{name}] has host and slurm: Slurm chooses the host itself; leave one out")
    for key in ("ssh", "folder", "program"):
        if key in table and "host" not in table and (key == "ssh" or "slurm" not in table):
            raise UsageError(f"{path}: [{name}] has {key} and no host: name the host, or leave {key} out")
    return Machine(name, **{key: tuple(value) if isinstance(value, list) else value for key, value in table.items()})
