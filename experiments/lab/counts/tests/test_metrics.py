# SPDX-License-Identifier: GPL-2.0-only
import pytest

from experiments.lab.counts.metrics import Expression, Metrics
from experiments.lab.counts.profile import Refused

MEASURED = Metrics(loads=1000, stores=10, dram=(75, 25), pages=(3, 1), remote_dram=25, remote_cache=2)


@pytest.mark.parametrize(("text", "true"), [
    ("remote_share > 10%", True), ("remote_share > 25%", False), ("remote_share >= 25 %", True),
    ("remote_share>0.1", True), ("dram[0] > 2 * dram[1]", True), ("dram[0] > 3*dram[1]", False),
    ("pages[1] != 1 or remote_cache == 2", True), ("pages[1] != 1 and remote_cache == 2", False),
    ("not remote_dram < 1e3", False), ("loads / stores > 99", True), ("10% < remote_share", True), ("remote_dram - 5 <= 20", True),
])
def test_expressions(text, true):
    assert Expression(text, 2).judge_metrics(MEASURED).failed is true


@pytest.mark.parametrize(("text", "message"), [
    ("", "invalid syntax"), ("remote_share >", "invalid syntax"), ("remote_share", "'remote_share' is no comparison"),
    ("1 < remote_dram < 5", "is no comparison"), ("latency > 5", "there is no metric 'latency'"),
    ("dram > 5", "'dram' needs a node, dram\\[0\\]"), ("dram[2] > 5", "the machine has the nodes 0 to 1, and not '2'"),
    ("dram[-1] > 5", "and not '-1'"), ("pages[True] > 5", "and not 'True'"), ("__import__('os') > 5", "is no number and no metric"),
    ("loads[0] > 5", "is no number"), ("remote_dram > 'a'", "is no number"), ("remote_dram > 5 ** 2", "is no number"),
    ("remote_dram > True", "is no number"),
])
def test_what_does_not_parse_is_one_line(text, message):
    with pytest.raises(Refused, match=message) as refused:
        Expression(text, 2)
    assert "\n" not in str(refused.value)


def test_a_division_by_0_is_refused():
    nothing = Metrics(0, 0, (0, 0), (0, 0), 0, 0)
    with pytest.raises(Refused, match="'stores' is 0"):
        Expression("loads / stores > 1", 2).judge_metrics(nothing)
    assert not Expression("remote_share > 0", 2).judge_metrics(nothing).failed


def test_a_failure_names_metric_value_and_bound():
    assert str(Expression("remote_share > 10%", 2).judge_metrics(MEASURED)) == "remote_share is 0.25, and the bound is 0.1"
    for text in ("remote_share > 10 %", "remote_share > 10 % and loads > 0", "loads > 0 or remote_share > 10%"):
        assert Expression(text, 2).judge_metrics(MEASURED).failed is True, text
    both = Expression("pages[0] > 2 or dram[1] > 100 or loads > 1", 2).judge_metrics(MEASURED)
    assert str(both) == "pages[0] is 3, and the bound is 2; loads is 1000, and the bound is 1"
