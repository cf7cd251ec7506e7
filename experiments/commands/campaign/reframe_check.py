# SPDX-License-Identifier: GPL-2.0-only
"""The campaign's one check for ReFrame: a suite on a machine. ReFrame reads this file; campaign.json says what there is."""

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import parameter, run_after, sanity_function
from reframe.core.exceptions import SanityError

FOLDER = Path(os.environ["NUMAPLACE_CAMPAIGN"])
CAMPAIGN = json.loads((FOLDER / "campaign.json").read_text(encoding="utf-8"))
MOST_ROWS = 200  # of the performance table
LIMIT = 60  # s, for what is left on a host to go


@rfm.simple_test
class Suite(rfm.RunOnlyRegressionTest):
    suite = parameter(range(len(CAMPAIGN["suites"])))
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    sourcesdir = str(Path(__file__).with_name("machine_side"))
    executable = "sh"
    exclusive_access = True
    time_limit = None

    @run_after("setup")
    def go_on(self):
        suite = CAMPAIGN["suites"][self.suite]
        machine = CAMPAIGN["machines"][int(self.current_partition.name.removeprefix("m"))]
        step = f"{suite.removesuffix('.toml')}@{machine['name']}"
        self.kept = FOLDER / "runs" / step
        self.skip_if((self.kept / "verdict").exists() and (self.kept / "verdict").read_text().startswith("done "), "it is done")
        (self.kept / "verdict").unlink(missing_ok=True)
        if suite.endswith(".toml"):
            shutil.copy(FOLDER / "suites" / suite, self.stagedir)
        lab = ["--lab", machine["lab"]] if machine["lab"] else []
        self.executable_opts = ["step.sh", *(shlex.quote(word) for word in (
            machine["folder"], f"{CAMPAIGN['name']}-{step}", machine["program"], suite, *lab, *CAMPAIGN["options"]))]

    @sanity_function
    def keep(self):
        """What came from the machine, before anything can fail."""
        _clear(self.job)
        stage = Path(self.stagedir)
        if not (stage / "verdict").exists():
            said = _last_line(stage / "rfm_job.err") or f"it said nothing, and its scheduler calls the job {self.job.state}"
            raise SanityError(f"the machine did not come to the suite's end: {said}")
        shutil.rmtree(self.kept, ignore_errors=True)
        self.kept.mkdir(parents=True)
        if (stage / "result").exists():
            shutil.copytree(stage / "result", self.kept, dirs_exist_ok=True)
        state, _, why = (stage / "verdict").read_text(encoding="utf-8").rstrip("\n").split(" ", 2)
        shutil.copy(stage / "verdict", self.kept)
        if state == "done":
            subprocess.run([CAMPAIGN["reporter"], "experiment", "report", self.kept], check=True, stdout=subprocess.DEVNULL)
            self.perf_variables = dict(_means(self.kept))
        if state == "failed":
            raise SanityError(why)
        self.skip_if(state == "skipped", why)
        return True


def _means(kept: Path):
    """Rows of summary.json, for ReFrame's own results database."""
    for row in json.loads((kept / "summary.json").read_text(encoding="utf-8"))["rows"][:MOST_ROWS]:
        if row.get("mean") is not None:
            name = f"{row['workload']}/{row['policy']}/{row['metric']}"
            yield name, sn.make_performance_function(sn.defer(row["mean"]), row.get("unit") or "1")


def _last_line(file: Path) -> str:
    lines = file.read_text(encoding="utf-8", errors="replace").split("\n") if file.exists() else []
    return next((line for line in reversed(lines) if line.strip()), "")


def _clear(job):
    """ReFrame leaves its folder on a host that it reached by ssh."""
    if getattr(job, "remotedir", None):
        subprocess.run(["ssh", "-oBatchMode=yes", *job.ssh_options, job.host, f"rm -rf {shlex.quote(job.remotedir)}"],
                       check=False, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT)
