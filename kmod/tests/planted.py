# SPDX-License-Identifier: GPL-2.0-only
"""Faults planted in copies of the module: planted.py SERIES [NAME...] has the fuzzer look for them

Prints a line of JSON for each: what it was found by, and after how many operations; "" where it was not found. DELAYS are for test_planted.py.
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
    Fault("lock kept on error", "debugfs.c", "\tfile->f_pos = *pos = 0;\n\tmutex_unlock(&open->lock);",
          "\tfile->f_pos = *pos = 0;\n\tif (!err)\n\t\tmutex_unlock(&open->lock);"),
    Fault("line without its end", "debugfs.c", "memdup_user_nul(from, count)", "memdup_user(from, count)"),
    Fault("longest line refused", "debugfs.c", "count > NUMAPLACE_MAX_WRITE", "count >= NUMAPLACE_MAX_WRITE"),
    Fault("record released too early", "place.c", "\t\tif (p)\n\t\t\trefcount_inc(&p->users);\n", ""),
    Fault("CPUs not restored", "restore.c", "if (!kept && numaplace_cpuset_set_cpus", "if (kept && numaplace_cpuset_set_cpus"),
    Fault("wrong error", "target.c", "N_MEMORY))\n\t\terr = -ENODEV;", "N_MEMORY))\n\t\terr = -ENXIO;"),
    Fault("no check for NULL", "debugfs.c", "if (!value || strcmp(value, \"caller\"))", "if (strcmp(value, \"caller\"))"),
    Fault("memory of a process kept", "move.c", "\t\tmmgrab(mm);\n\t\tmmput(mm);\n", "\t\tmmgrab(mm);\n"),
    Fault("policy not released", "restore.c", "\tnumaplace_mempolicy_put(original);\n\treturn !IS_ERR(copy);", "\treturn !IS_ERR(copy);"),
    Fault("saved CPUs not inherited", "inherit.c", "\t\tcpumask_copy(child->saved_cpus, parent->saved_cpus);\n", ""),
)


PMD = "\t\tpmdval = pmd ? pmdp_get_lockless(pmd) : __pmd(0);\n"

# Applied before the delays.
EARLY_READ = Fault("page table used that was read before RCU", "classify.c", "\t\trcu_read_lock();\n" + PMD,
                   PMD + "\t\trcu_read_lock();\n")

# Between what is read and what uses it under a lock: longer than RCU takes to free what was replaced.
DELAYS = (
    Fault("msleep()", "compat.h", "#include <linux/mm.h>\n", "#include <linux/delay.h>\n#include <linux/mm.h>\n"),
    Fault("before RCU", "classify.c", "\t\trcu_read_lock();\n", "\t\tmsleep(40);\n\t\trcu_read_lock();\n"),
    Fault("before the lock of a table", "classify.c", "\tpte = pte_offset_kernel(&pmdval, addr);\n",
          """\tmdelay(20);
\tif (WARN_ONCE(!PageTable(pmd_page(pmdval)), "the table was freed"))
\t\treturn;
\tpte = pte_offset_kernel(&pmdval, addr);
"""),
    Fault("before the lock of a huge page", "classify.c", "\tspinlock_t *ptl = pmd_lock(b->mm, pmd);\n",
          "\tspinlock_t *ptl = ({ mdelay(5); pmd_lock(b->mm, pmd); });\n"),
    Fault("before the target is looked at", "move.c", "\tint err = numaplace_target_recheck(process->pid, process->mm, r->to);\n",
          "\tint err = ({ msleep(20); numaplace_target_recheck(process->pid, process->mm, r->to); });\n"),
    Fault("before CPUs are set", "cpuset.c", "\t\terr = set_cpus_allowed_ptr(task, &want);\n",
          "\t\tmsleep(20);\n\t\terr = set_cpus_allowed_ptr(task, &want);\n"),
    Fault("before a file of a cpuset is read", "cpuset.c", "\tstruct file *file = file_of(cpuset);\n",
          "\tstruct file *file = ({ msleep(5); file_of(cpuset); });\n"),
    Fault("before CPUs are noted", "place_cpus.c", "\tnote_cpus(p, now, want);\n", "\tmsleep(20);\n\tnote_cpus(p, now, want);\n"),
    Fault("before a child is looked up", "inherit.c", "\tspin_lock(&numaplace_task_table_lock);\n\tp = numaplace_task_table_find(current);\n",
          "\tmdelay(5);\n\tspin_lock(&numaplace_task_table_lock);\n\tp = numaplace_task_table_find(current);\n"),
)


# Of all who write to a file at once, often enough to be watched.
RACE = Fault("count without a lock", "debugfs.c", "memdup_user_nul(from, count)",
             "({ static unsigned long writes; for (int i = 0; i < 10000; i++) { writes++; barrier(); } memdup_user_nul(from, count); })")


def plant(faults: tuple[Fault, ...], folder: Path):
    """A copy of the sources with the faults, each in the only place that it fits."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(TOP / "kmod", folder / "kmod")
    shutil.copy(TOP / "Kbuild", folder)
    for fault in faults:
        source = folder / "kmod" / fault.file
        text = source.read_text(encoding="utf-8")
        if text.count(fault.before) != 1:
            raise ValueError(f"planted: {fault.name}: {fault.file} has its text {text.count(fault.before)} times, not once: change its text")
        source.write_text(text.replace(fault.before, fault.after), encoding="utf-8")


def build(faults: tuple[Fault, ...], series: str, folder: Path) -> Path:
    plant(faults, folder)
    subprocess.run([TOP / "setup/kernel-build", series, f"M={folder}", "modules"], cwd=TOP, check=True, capture_output=True)
    return folder / "numaplace.ko"


def main(series: str, *names: str) -> int:
    missed = 0
    for fault in FAULTS:
        if names and fault.name not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            record = fuzz.run(series, WORDS, build((fault,), series, Path(folder) / "source"), LIMIT_S)
        shown = {"planted": fault.name, "series": series, **{key: record[key] for key in ("words", "fault", "fault_after", "seconds")}}
        print(json.dumps(shown), flush=True)
        missed += not record["fault"]
    return missed > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
