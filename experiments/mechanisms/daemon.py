# SPDX-License-Identifier: GPL-2.0-only
"""numaplace's own daemon, which keeps the programs placed by a policy."""

import signal
import subprocess
from collections.abc import Sequence

from ..errors import ExperimentError
from ..host.process import start_process
from ..paths import HERE
from .mechanism import Mechanism, Parameter, Scope


class Daemon(Mechanism):
    """Runs numaplace daemon beside the programs."""

    name = "daemon"
    about = "numaplace daemon with the policy maximum-local"
    parameters = {"interval_ms": Parameter("between two looks", 10, 60000, 1000),
                  "hysteresis": Parameter("plans in a row that say the same", 1, 20, 2),
                  "trial_ms": Parameter("for which tasks are counted before and after they are moved; 0: not at all", 0, 60000, 5000)}
    counters = ("pgmigrate_success",)

    def attach(self, scope: Scope, pids: Sequence[int]) -> None:
        """Starts the daemon for these programs; its errors go to a file of the scratch folder."""
        self.log = scope.guard.scratch / "daemon.log"
        trial = ["--trial", f"{self.values['trial_ms']}ms"] if self.values["trial_ms"] else ["--no-trial"]
        words = [HERE.programs / "numaplace", "daemon", "--policy", "maximum-local:pages=follow", "--override", "--interval",
                 f"{self.values['interval_ms']}ms", "--hysteresis", str(self.values["hysteresis"]), *trial, *map(str, pids)]
        with open(self.log, "wb") as log:
            self.process = start_process(words, signal.SIGTERM, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)

    def tear_down(self) -> None:
        """Ends the daemon, where attach() has started it. ExperimentError: it had ended before with a status other than 0."""
        process = getattr(self, "process", None)
        if process is None:
            return
        ended = process.poll()
        process.terminate()
        process.wait()
        if ended:
            raise ExperimentError(f"mechanism {self.name}: ended by itself: {self.log.read_text(errors='replace').strip()}")
