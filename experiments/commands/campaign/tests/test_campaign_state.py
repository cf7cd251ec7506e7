# SPDX-License-Identifier: GPL-2.0-only
"""How far a campaign is, told by its folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.commands.campaign import state
from experiments.commands.campaign.machines import Machine
from experiments.errors import UsageError

MACHINES = [Machine("box 1", host="box1", ssh=("-p", "22")), Machine("here")]


@pytest.fixture
def campaign(tmp_path: Path) -> state.Campaign:
    made = state.Campaign(tmp_path, "campaign-1", ["sort", "my suite.toml"], ["--quick"], MACHINES)
    made.write()
    return made


def keep(campaign: state.Campaign, step: str, verdict: str, records: int) -> None:
    kept = campaign.folder / "runs" / step
    kept.mkdir(parents=True)
    (kept / "verdict").write_text(verdict + "\n")
    (kept / "results.jsonl").write_text("{}\n" * records)


def test_a_campaign_is_read_as_it_was_written(campaign: state.Campaign) -> None:
    assert state.read(campaign.folder) == campaign


def test_each_step_has_the_state_of_its_verdict(campaign: state.Campaign) -> None:
    keep(campaign, "sort@box 1", "done 31 ", 3)
    keep(campaign, "my suite@box 1", "failed 2 status 1: 4 observations are marked", 4)
    keep(campaign, "sort@here", "skipped 0 no Redis", 0)
    steps = campaign.steps()
    assert [(s.machine, s.suite, s.state, s.seconds, s.why, s.records, s.left) for s in steps] == [
        ("box 1", "sort", "done", "31", "", 3, False),
        ("box 1", "my suite", "failed", "2", "status 1: 4 observations are marked", 4, True),
        ("here", "sort", "skipped", "0", "no Redis", 0, False),
        ("here", "my suite", "open", "-", "", 0, True)]
    assert str(steps[0]).split() == ["box", "1", "sort", "done", "3", "records", "31", "s"]


def test_an_open_step_has_the_reason_that_reframe_gives(campaign: state.Campaign) -> None:
    cases = [{"partition": "m1", "suite": 0, "fail_reason": "sanity error: connection\n closed"},
             {"partition": "m1", "suite": 1, "fail_reason": None},
             {"partition": "m0", "suite": 1, "fail_reason": "'ssh box1' failed:\n--- stdout ---\n--- stdout ---\n"
                                                            "--- stderr ---\nssh: refused\n--- stderr ---"}]
    (campaign.folder / "report.json").write_text(json.dumps({"runs": [{"testcases": cases}]}))
    assert [s.why for s in campaign.steps()] == ["", "ssh: refused", "sanity error: connection closed", ""]


def test_another_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no campaign's folder: campaign.json: No such file"):
        state.read(tmp_path)
