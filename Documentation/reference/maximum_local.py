#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The policy maximum-local as a program: numaplace plan --policy exec:./maximum_local.py PID..

It gives the same plan as the built-in one, but leaves to the kernel a task that keeps more CPUs busy than a
node has.
"""
import json
import sys
from itertools import groupby

ABOUT = {
    "summary": "tasks of high NUMA penalty first choose a core on the node of their pages",
    "origin": "Majo and Gross, ISMM 2011", "needs": "penalty",
    "options": [
        {"name": "pages", "type": "word", "default": "follow", "words": ["follow", "stay"],
         "meaning": "follow: pages that are on another node than their task move to it; stay: no page moves"},
        {"name": "penalty", "type": "number", "default": 0, "min": 0, "max": 100,
         "meaning": "NUMA penalty of a task for which none is known; 0: from this machine's distances"},
    ],
}


class Placing:
    """Holds the CPUs that tasks have so far, by node."""

    def __init__(self, machine: dict) -> None:
        self.nodes = [node["id"] for node in machine["nodes"]]
        self.cpus = {node["id"]: node["usable_cpus"] for node in machine["nodes"]}
        self.distance = {(node["id"], to): d for node in machine["nodes"] for to, d in zip(self.nodes, node["distances"])}
        self.used = dict.fromkeys(self.nodes, 0)

    def has_room(self, node: int, task: dict) -> bool:
        return node in task["may_run"] and self.used[node] + task["cores"] <= self.cpus[node]

    def place(self, task: dict, decision: dict, node: int, reason: str) -> None:
        decision["to"], decision["reason"] = node, reason
        self.used[node] += task["cores"]

    def keep_task(self, task: dict) -> None:
        """Counts the CPUs of a task that stays on the nodes that it runs on, in proportion to what these have."""
        all_cpus, so_far, counted = sum(self.cpus[node] for node in task["runs_on"]), 0, 0
        for node in task["runs_on"]:
            so_far += self.cpus[node]
            share = so_far * task["cores"] // all_cpus
            self.used[node] += share - counted
            counted = share

    def take_home(self, task: dict, decision: dict) -> None:
        home = decision["home"]
        if decision["to"] is not None or home is None or not self.has_room(home, task):
            return
        self.place(task, decision, home, f"runs on its home node {home} already" if decision["from"] == home else
                   f"free core on its home node {home}")

    def rank_node(self, decision: dict, node: int) -> tuple:
        """Returns a sort key of a node: nearest to the task's home, or to where it runs without one, first; then where it runs."""
        wanted = decision["from"] if decision["home"] is None else decision["home"]
        return (0 if wanted is None else self.distance[node, wanted], node != decision["from"])

    def overflow_task(self, task: dict, decision: dict) -> None:
        """Places a task off its home: on the nearest node with room; without one, or a node to be near, on that of the smallest load."""
        near = [node for node in self.nodes if self.has_room(node, task)]
        if near and (decision["home"], decision["from"]) != (None, None):
            node = min(near, key=lambda node: self.rank_node(decision, node))
        else:
            node = min(task["may_run"], key=lambda node: (
                (self.used[node] + task["cores"]) / self.cpus[node], *self.rank_node(decision, node)))
        self.place(task, decision, node, self.explain_choice(task, decision, node))

    def explain_choice(self, task: dict, decision: dict, node: int) -> str:
        """Returns why a task that found no room at home goes to this node."""
        home = decision["home"]
        if not self.has_room(node, task):
            return (f"no free core left: shares node {node} ({self.used[node] + task['cores']} busy on "
                    f"{self.cpus[node]} CPUs)")
        if home is None:
            return f"has no pages yet: node {node} is the " + ("least loaded" if decision["from"] is None else
                                                               "nearest with a free core")
        if self.cpus[home]:
            return f"no free core on home node {home}, node {node} is the nearest with one"
        return f"home node {home} has no CPUs, node {node} is the nearest with a free core"


def decide_placement(question: dict) -> list[dict]:
    """Decides where each task of the question goes, and with the option pages=follow its pages; returns the filled decisions."""
    placing = Placing(question["machine"])
    pairs = sorted(zip(question["tasks"], question["decisions"]), key=lambda pair: -pair[1]["penalty"]["value"])
    free = [pair for pair in pairs if pair[0]["may_run"]]
    for task, decision in zip(question["tasks"], question["decisions"]):
        if not task["may_run"]:
            placing.keep_task(task)
            decision["reason"] = "left where it runs: no node's CPUs may be given to it"
    for _, group in groupby(free, key=lambda pair: pair[1]["penalty"]["value"]):
        # Of equals, those that are at home stay there: another plan after this one changes nothing.
        for task, decision in sorted(group, key=lambda pair: pair[1]["from"] != pair[1]["home"]):
            placing.take_home(task, decision)
    for task, decision in free:
        if decision["to"] is not None:
            continue
        if task["cores"] <= max(placing.cpus[node] for node in task["may_run"]):
            placing.overflow_task(task, decision)
        else:
            decision["reason"] = f"keeps {task['cores']} CPUs busy, more than any node has: left to the kernel"
    if question["options"].get("pages") == "follow":
        for task, decision in pairs:
            decision["if_nearer"] = True
            if decision["to"] is not None and task["may_hold"]:
                decision["pages_to"] = min(task["may_hold"], key=lambda node: (
                    node != decision["to"], placing.distance[decision["to"], node], -task["pages"].get(str(node), 0)))
    return question["decisions"]


json.dump({"about": ABOUT, "decisions": decide_placement(json.load(sys.stdin))}, sys.stdout)
