# SPDX-License-Identifier: GPL-2.0-only
"""The node's shares that ps finds by sampling, beside those of numa_maps."""
import json

from placed import Tool


def test_shares_are_within_the_error_that_is_printed(tool: Tool, start_target) -> None:
    target = start_target(cpus=0, memory=0)
    target.allocate(48)
    tool("migrate", target.pid, "--to", 1, "--limit", 4000, "--engine", "syscall")
    exact, sampled = (json.loads(tool.run("ps", "--json", "-s", "0", *words, target.pid).stdout)["tasks"][0]
                      for words in ([], ["--sample-above", "16"]))
    assert "pages_error" not in exact and 0 < sampled["pages_error"] < 0.01
    shares = [task["pages"]["1"] / sum(task["pages"].values()) for task in (exact, sampled)]
    assert 0.25 < shares[0] < 0.4 and abs(shares[1] - shares[0]) < 2 * sampled["pages_error"], shares
