# SPDX-License-Identifier: GPL-2.0-only
"""Runs inside a lab machine: cells of threads that measure together. Standard library only.

    teams.py PLAN     a JSON object:
        program       words before the options of np-mem
        seconds       of simulated time that each cell measures
        keep          whether processes stay for later cells
        lead          seconds until all start; LEAD where it is not given
        cells         each {"size": of an array, as np-mem takes it, "threads": [[CPU, memory node], ..]} and, if it is to work before it
                      is measured, {"warm": seconds of simulated time}

Each thread is a process of its own with arrays of its own, pinned to its CPU, its pages on the node asked for.
Prints a JSON object for each cell: MB/s of simulated time, thread by thread.
"""

import json
import subprocess
import sys
import time

LEAD = 0.05  # seconds until all start, so that the last has heard of it


class Member:
    """Runs a thread as a process of np-mem, pinned to its CPU."""
    def __init__(self, program: list[str], size: str, cpu: int, memory_node: int):
        argv = [*program, "--size", size, "--mem", str(memory_node), "--cpus", str(cpu)]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.ready = False

    def read_answer(self) -> dict:
        line = self.process.stdout.readline()
        assert line, f"{self.process.args} ended"
        return json.loads(line)

    def wait_until_ready(self):
        if not self.ready:
            self.read_answer()
            self.ready = True

    def send_command(self, command: str):
        self.process.stdin.write(command + "\n")

    def stop_program(self):
        self.process.communicate("quit\n")  # which passes over one that has ended


class Team:
    """Runs the members of cells, which are those of PLAN. plan: program, seconds and lead, as in PLAN."""
    def __init__(self, plan: dict):
        self.plan = plan
        self.members: dict[tuple[str, int, int, int], Member] = {}  # by size, CPU, memory node, and number among those of the same

    def list_members(self, cell: dict) -> list[Member]:
        """Returns a member for each thread of a cell, starting those that are missing; threads on the same CPU and memory have one each."""
        members = []
        for index, (cpu, memory_node) in enumerate(cell["threads"]):
            same_before = cell["threads"][:index].count([cpu, memory_node])
            key = (cell["size"], cpu, memory_node, same_before)
            if key not in self.members:
                self.members[key] = Member(self.plan["program"], cell["size"], cpu, memory_node)
            members.append(self.members[key])
        return members

    def measure_cell(self, cell: dict) -> list[float]:
        """Measures all threads of a cell at once. Returns the MB/s of each. AssertionError: a result is wrong, or they did not overlap."""
        members = self.list_members(cell)
        for member in members:
            member.wait_until_ready()
        start = time.monotonic() + self.plan.get("lead", LEAD)
        for member in members:
            member.send_command(f"run {self.plan['seconds']} {start} {cell.get('warm', 0)}")
        results = [member.read_answer() for member in members]
        assert all(result["verified"] for result in results), results
        assert max(result["started"] for result in results) < min(result["finished"] for result in results), results
        return [result["mb_per_s"] for result in results]

    def stop_members(self):
        for member in self.members.values():
            member.stop_program()
        self.members.clear()


def main():
    """Measures the cells of the command line's plan and prints them."""
    plan = json.loads(sys.argv[1])
    team = Team(plan)
    for cell in plan["cells"] if plan["keep"] else []:
        team.list_members(cell)  # side by side, all fill their arrays
    for cell in plan["cells"]:
        print(json.dumps({"threads": cell["threads"], "mb_per_s": team.measure_cell(cell)}), flush=True)
        if not plan["keep"]:
            team.stop_members()
    team.stop_members()


if __name__ == "__main__":
    main()
