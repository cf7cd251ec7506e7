# SPDX-License-Identifier: GPL-2.0-only
import json
from xml.etree import ElementTree as xml

import pytest

from experiments.lab.counts import metrics, output, profile, where
from experiments.lab.counts.profile import Selection
from experiments.lab.counts.tests import written


def build_counted(folder, *expressions: str, status: int = 0) -> output.Counted:
    found = profile.read_profile(written.write_profile(folder))
    measured = metrics.compute_metrics(found, Selection())
    return output.Counted("2x2", "lab-counted", ["./a", "b c"], status, Selection(), found, measured, where.find_remote(found, Selection()),
                          [metrics.Expression(text, 2).judge_metrics(measured) for text in expressions])


def test_a_failure_is_a_line_with_metric_value_bound_mapping_and_function(tmp_path):
    lines = list(output.format_lines(build_counted(tmp_path, "remote_dram > 9", "remote_dram > 99")))
    assert lines[0] == ("numaplace lab: --fail-if 'remote_dram > 9': command: remote_dram is 45, and the bound is 9; most: anonymous "
                        "mapping, 10.0 MiB at 0x7ffff7001000, 30 lines, by +0x1010 (/no/program)")
    assert "            30  66.7%  anonymous mapping, 10.0 MiB at 0x7ffff7001000, node 0,1" in lines
    assert "            25  55.6%  +0x1010 (/no/program), node 1" in lines
    assert lines[-1] == "numaplace lab: /no/program has no symbol for that code: build it with -g, and do not strip it"


def test_where_nothing_fails_one_line_says_what_was_counted(tmp_path):
    lines = list(output.format_lines(build_counted(tmp_path, "remote_dram > 99")))
    assert lines == ["numaplace lab: command: 105 lines read from DRAM (45 of node 0, 60 of node 1), 45 of them remote (42.9%); 4 from "
                     "other nodes' caches; 601 loads, 181 stores"]


def test_json_has_tasks_mappings_functions_and_verdicts(tmp_path):
    said = json.loads(json.dumps(output.build_json(build_counted(tmp_path, "remote_dram > 9"))))
    assert said["metrics"]["dram"] == [45, 60]
    assert {t["tid"] for t in said["tasks"]} == {10, 11, 12}
    assert said["verdicts"] == [{"expression": "remote_dram > 9", "failed": True,
                                 "true": [{"text": "remote_dram", "value": 45, "sign": ">", "bound": 9}]}]
    assert said["mappings"][0]["kind"] == "anonymous"


@pytest.mark.parametrize(("status", "failures"), [(0, 1), (3, 2)])
def test_junit_has_the_command_and_each_expression(tmp_path, status, failures):
    suite = xml.fromstring(output.build_junit(build_counted(tmp_path, "remote_dram > 9", "remote_dram > 99", status=status)))
    assert (suite.get("tests"), suite.get("failures")) == ("3", str(failures))
    assert [case.find("failure") is not None for case in suite] == [bool(status), True, False]


def test_an_annotation_is_one_line(tmp_path):
    one = build_counted(tmp_path, "remote_share > 10%")
    said = output.format_annotation(one, one.failures[0])
    assert said.startswith("::error title=numaplace::command: remote_share is 0.428571, and the bound is 0.1; most: ")
    assert "\n" not in said
    assert output._escape_text("10%,\n", ",:") == "10%25%2C%0A"
