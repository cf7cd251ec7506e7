#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A policy that binds every task to one node, with its pages: --policy exec:PATH/bind.py:node=1."""

import json
import sys

ABOUT = {"summary": "every task and its pages on one node", "origin": "numaplace worth", "needs": "nothing",
         "options": [{"name": "node", "type": "whole number", "default": 0, "min": 0, "max": 1023, "meaning": "that node"}]}

question = json.load(sys.stdin)
node = int(question["options"].get("node", 0))
json.dump({"about": ABOUT, "decisions": [{"pid": task["pid"], "to": node, "pages_to": node, "reason": "asked for"}
                                         for task in question["tasks"] if node in task["may_run"]]}, sys.stdout)
