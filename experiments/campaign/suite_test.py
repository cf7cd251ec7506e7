# SPDX-License-Identifier: GPL-2.0-only
"""The campaign's one test for ReFrame: a suite on a machine. ReFrame reads this file; campaign.json says what there is."""

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import parameter, performance_function, run_after, run_before, sanity_function  # noqa: F401

FOLDER = Path(os.environ["NUMAPLACE_CAMPAIGN"])
CAMPAIGN = json.loads((FOLDER / "campaign.json").read_text(encoding="utf-8"))
MOST_ROWS = 200  # of the performance table


@rfm.simple_test
class Suite(rfm.RunOnlyRegressionTest):
    suite = parameter(CAMPAIGN["suites"])
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    sourcesdir = str(Path(__file__).with_name("machine_side"))
    executable = "sh"
    time_limit = None

    @run_after("setup")
    def go_on(self):
        machine = self.current_partition.name
        self.kept = FOLDER / "runs" / machine / self.suite
        if (self.kept / "done").exists():
            self.skip("it is done")
        told = CAMPAIGN["machines"][machine]
        lab = ["--lab", told["lab"]] if told["lab"] else []
        self.executable_opts = ["step.sh", *(shlex.quote(word) for word in (
            told["folder"], f"{CAMPAIGN['name']}-{machine}-{self.suite}", told["program"], self.suite, *lab, *CAMPAIGN["options"]))]

    @sanity_function
    def ended(self):
        return sn.assert_found(r"^(skip|status): ", "verdict", "the machine did not come to the suite's end")

    @run_before("performance")
    def keep(self):
        """Before anything can fail: what came from the machine."""
        stage = Path(self.stagedir)
        kind, _, said = (stage / "verdict").read_text(encoding="utf-8").strip().partition(": ")
        if kind == "skip":
            self.kept.mkdir(parents=True, exist_ok=True)
            (self.kept / "skipped").write_text(said + "\n", encoding="utf-8")
            self.skip(said)
        shutil.rmtree(self.kept, ignore_errors=True)
        shutil.copytree(stage / "result", self.kept)
        if said != "0":
            (self.kept / "failed").write_text(f"status {said}\n", encoding="utf-8")
            raise rfm.core.exceptions.SanityError(f"the suite ended with status {said}")
        subprocess.run([CAMPAIGN["reporter"], "experiment", "report", self.kept], check=True, stdout=subprocess.DEVNULL)
        self.perf_variables = dict(_rows(self.kept))
        (self.kept / "done").touch()


def _rows(kept: Path):
    """Of summary.json: ReFrame's own results database has them too."""
    for row in json.loads((kept / "summary.json").read_text(encoding="utf-8"))["rows"][:MOST_ROWS]:
        if row.get("mean") is not None:
            name = f"{row['workload']}/{row['policy']}/{row['metric']}"
            yield name, sn.make_performance_function(sn.defer(row["mean"]), row.get("unit") or "1")
