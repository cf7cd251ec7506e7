# SPDX-License-Identifier: GPL-2.0-only
"""What `apply --verify` says of plans: one that is wrong on purpose, twenty that are right, one of a program with phases."""

from experiments.bench_lab import lab_run
from experiments.claims import Outcome

MACHINE = "demo-2s"


def effects() -> Outcome:
    out = Outcome()
    lines = lab_run.measure(MACHINE, "tool-verify", "tool-verify-right", timeout=1500)
    out.say("plan        policy               speed   noise  taken back   (a chase on node 1, its pages moved by apply --verify)")
    for line in lines:
        effect = line["verified"] or {"speed": float("nan"), "noise": float("nan"), "taken_back": None}
        out.say(f"{line['what']:11} {line['policy']:20} {effect['speed']:.3f}  {effect['noise']:6.3f}  {effect['taken_back']}")
    taken_back = {what: [line["verified"] and line["verified"]["taken_back"] for line in lines if line["what"] == what]
                  for what in ("wrong", "right", "phases")}
    out.at_least("verify: wrong plans taken back", taken_back["wrong"].count(True), len(taken_back["wrong"]), "{:.0f}")
    for what in ("right", "phases"):
        kept = taken_back[what].count(False)
        out.at_least(f"verify: plans that were right kept ({what})", kept, len(taken_back[what]), "{:.0f}")
    out.data = {"lines": lines}
    return out
