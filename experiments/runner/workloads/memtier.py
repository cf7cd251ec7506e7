# SPDX-License-Identifier: GPL-2.0-only
"""memtier_benchmark, where it is installed: random keys of a server that it has filled itself."""

from __future__ import annotations

import json
from typing import Any

from ...errors import ExperimentError
from .redis import NO_CALLS, ForeignClient
from .workload import Measured, make_metric

PERCENTILES = {"latency_p50": "p50.00", "latency_p99": "p99.00", "latency_p999": "p99.90"}
PROGRAM = "memtier_benchmark"


class RedisMemtier(ForeignClient):
    """Every key is set once; then sets and gets of random keys are timed."""

    def measure(self) -> Measured:
        """Fills the server, then measures rates and latencies of sets and gets. ExperimentError: memtier's JSON lacks one of them."""
        options = self.options
        self.begin_measuring()
        self._fill_server()
        stats = self._run_memtier("--ratio", options["ratio"], "--key-pattern", "R:R", "--clients", str(options["clients"]),
                                  "--requests", str(options["requests"]), "--pipeline", str(options["pipeline"]))
        try:
            totals, self.missed = stats["Totals"], stats["Gets"]["Misses/sec"]
            metrics = [make_metric("throughput", "ops/s", totals["Ops/sec"]),
                       make_metric("set", "ops/s", stats["Sets"]["Ops/sec"]), make_metric("get", "ops/s", stats["Gets"]["Ops/sec"])]
            metrics += [make_metric(name, "us", 1000 * totals["Percentile Latencies"][key])  # memtier has ms
                        for name, key in PERCENTILES.items()]
        except KeyError as error:
            raise ExperimentError(f"{PROGRAM}: its JSON has no {error}; take version 2") from None
        return Measured(metrics, [], {"server": {kind: read_totals(stats[kind]) for kind in ("Sets", "Gets", "Totals")}})

    def work_once(self) -> None:
        self._fill_server()

    def _fill_server(self) -> None:
        keys = str(self.options["keys"])
        self._run_memtier("--ratio", "1:0", "--key-pattern", "S:S", "--clients", "1", "--requests", keys)

    def _run_memtier(self, *words: str) -> dict[str, Any]:
        """Runs memtier_benchmark with these words besides. Returns its JSON of the whole run. ExperimentError: there is none."""
        options, file = self.options, self.scratch / "memtier.json"
        file.unlink(missing_ok=True)
        self.call_client(PROGRAM, "-S", self.path, "--protocol", "redis", "--threads", "1", "--hide-histogram",
                         "--data-size", str(options["value_bytes"]), "--key-minimum", "1", "--key-maximum", str(options["keys"]),
                         "--json-out-file", file, *words)
        try:
            return json.loads(file.read_text())["ALL STATS"]
        except (OSError, ValueError, KeyError) as error:
            raise ExperimentError(f"{PROGRAM}: {file} has no 'ALL STATS' ({error}); take version 2") from None

    def verify(self) -> str:
        """Checks that the server counted each request, none failed, every key is there, and no get missed its key. Returns "ok" or
        what is wrong."""
        options, calls = self.options, self.count_calls()
        requests = options["keys"] + options["clients"] * options["requests"]
        asked_for = [calls.get(name, NO_CALLS) for name in ("set", "get")]
        made, failed = sum(call.made for call in asked_for), sum(call.failed for call in asked_for)
        keys, missed = int(self.ask("DBSIZE")), self.missed
        problems = [f"{made} commands counted by the server, {failed} failed, {requests} asked for"] \
            if made != requests or failed else []
        problems += [f"{keys} keys of {options['keys']} are there"] if keys != options["keys"] else []
        problems += [f"{missed} gets a second missed their key"] if missed else []
        return "; ".join(problems) or "ok"


def read_totals(stats: dict[str, Any]) -> dict[str, Any]:
    """Returns the numbers alone, without the histogram that older and newer versions write in their own ways."""
    return {name: value for name, value in stats.items() if isinstance(value, int | float)}
