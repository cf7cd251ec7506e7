# SPDX-License-Identifier: GPL-2.0-only
"""Faults planted in copies of the module, for the fuzzer to find: planted.py SERIES [NAME...]

Prints a line of JSON for each: what it was found by, and after how many operations; "" where it was not found.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP))

from kmod.tests import fuzz  # noqa: E402

WORDS = "1 3 300 1"
LIMIT_S = 300


class Fault(NamedTuple):
    name: str
    file: str
    before: str
    after: str


FAULTS = (
    Fault("task not released", "place.c", "\tput_task_struct(call.task);\n\treturn n > 0", "\treturn n > 0"),
    Fault("lock kept on error", "job.c",
          "\t\t\terr = 0;\n\t\t\tbreak;\n\t\t}\n\t}\n\tspin_unlock(&lock);", "\t\t\terr = 0;\n\t\t\tbreak;\n\t\t}\n\t}\n\tif (!err)\n\t\tspin_unlock(&lock);"),
    Fault("line without its end", "debugfs.c", "memdup_user_nul(from, count)", "memdup_user(from, count)"),
    Fault("longest line refused", "debugfs.c", "count > NUMAPLACE_MAX_WRITE", "count >= NUMAPLACE_MAX_WRITE"),
    Fault("record released too early", "place.c", "\t\tif (p)\n\t\t\trefcount_inc(&p->users);\n", ""),
    Fault("CPUs not restored", "restore.c", "if (!kept && numaplace_cpuset_set_cpus", "if (kept && numaplace_cpuset_set_cpus"),
    Fault("wrong error", "job.c", "int err = -ENOENT;", "int err = -ESRCH;"),
    Fault("no check for NULL", "debugfs.c", "if (!value || strcmp(value, \"caller\"))", "if (strcmp(value, \"caller\"))"),
    Fault("memory of a process kept", "job.c", "\tmmgrab(mm);\n\tmmput(mm);\n", "\tmmgrab(mm);\n"),
    Fault("policy not released", "restore.c", "\tnumaplace_mempolicy_put(original);\n\treturn !IS_ERR(copy);", "\treturn !IS_ERR(copy);"),
    Fault("saved CPUs not inherited", "inherit.c", "\t\tcpumask_copy(child->saved_cpus, parent->saved_cpus);\n", ""),
)


def build(fault: Fault, series: str, folder: Path) -> Path:
    shutil.copytree(TOP / "kmod", folder / "kmod")
    shutil.copy(TOP / "Kbuild", folder)
    source = folder / "kmod" / fault.file
    source.write_text(source.read_text(encoding="utf-8").replace(fault.before, fault.after), encoding="utf-8")
    subprocess.run([TOP / "setup/kernel-build", series, f"M={folder}", "modules"], cwd=TOP, check=True, capture_output=True)
    return folder / "numaplace.ko"


def main(series: str, *names: str) -> int:
    missed = 0
    for fault in FAULTS:
        if names and fault.name not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            record = fuzz.run(series, WORDS, build(fault, series, Path(folder) / "source"), LIMIT_S)
        shown = {"planted": fault.name, "series": series, **{key: record[key] for key in ("words", "fault", "fault_after", "seconds")}}
        print(json.dumps(shown), flush=True)
        missed += not record["fault"]
    return missed > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
