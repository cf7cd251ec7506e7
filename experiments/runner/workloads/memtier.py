# SPDX-License-Identifier: GPL-2.0-only
"""memtier_benchmark, where it is installed: random keys of a server that it has filled itself."""

from __future__ import annotations

import json
from typing import Any

from ...errors import ExperimentError
from .redis import ForeignClient
from .workload import Measured, make_metric

PERCENTILES = {"latency_p50": "p50.00", "latency_p99": "p99.00", "latency_p999": "p99.90"}
PROGRAM = "memtier_benchmark"


class RedisMemtier(ForeignClient):
    """Every key is set once; then sets and gets of random keys are timed."""

    def measure(self) -> Measured:
        o = self.options
        self.begin_measuring()
        self._fill_server()
        found = self._run_memtier("--ratio", o["ratio"], "--key-pattern", "R:R", "--clients", str(o["clients"]),
                                  "--requests", str(o["requests"]), "--pipeline", str(o["pipeline"]))
        try:
            totals, self.missed = found["Totals"], found["Gets"]["Misses/sec"]
            metrics = [make_metric("throughput", "ops/s", totals["Ops/sec"]),
                       make_metric("set", "ops/s", found["Sets"]["Ops/sec"]), make_metric("get", "ops/s", found["Gets"]["Ops/sec"])]
            metrics += [make_metric(name, "us", 1000 * totals["Percentile Latencies"][key])
                        for name, key in PERCENTILES.items()]
        except KeyError as error:
            raise ExperimentError(f"{PROGRAM}: its JSON has no {error}; take version 2") from None
        return Measured(metrics, [], {"server": {kind: read_totals(found[kind]) for kind in ("Sets", "Gets", "Totals")}})

    def work_once(self) -> None:
        self._fill_server()

    def _fill_server(self) -> None:
        keys = str(self.options["keys"])
        self._run_memtier("--ratio", "1:0", "--key-pattern", "S:S", "--clients", "1", "--requests", keys)

    def _run_memtier(self, *words: str) -> dict[str, Any]:
        """Of its JSON, what it says of the whole run."""
        o, answer = self.options, self.scratch / "memtier.json"
        answer.unlink(missing_ok=True)
        self.call_client(PROGRAM, "-S", self.path, "--protocol", "redis", "--threads", "1", "--hide-histogram",
                         "--data-size", str(o["value_bytes"]), "--key-minimum", "1", "--key-maximum", str(o["keys"]),
                         "--json-out-file", answer, *words)
        try:
            return json.loads(answer.read_text())["ALL STATS"]
        except (OSError, ValueError, KeyError) as error:
            raise ExperimentError(f"{PROGRAM}: {answer} has no 'ALL STATS' ({error}); take version 2") from None

    def verify(self) -> str:
        """Each request was counted by the server, none failed, every key is there, and no get missed its key."""
        o, calls = self.options, self.count_calls()
        wanted = o["keys"] + o["clients"] * o["requests"]
        made, failed = (sum(calls.get(name, (0, 0))[i] for name in ("set", "get")) for i in (0, 1))
        keys, missed = int(self.ask("DBSIZE")), self.missed
        problems = [f"{made} commands counted by the server, {failed} failed, {wanted} asked for"] \
            if made != wanted or failed else []
        problems += [f"{keys} keys of {o['keys']} are there"] if keys != o["keys"] else []
        problems += [f"{missed} gets a second missed their key"] if missed else []
        return "; ".join(problems) or "ok"


def read_totals(stats: dict[str, Any]) -> dict[str, Any]:
    """The numbers, not the histogram that older and newer versions write in their own ways."""
    return {name: value for name, value in stats.items() if isinstance(value, int | float)}
