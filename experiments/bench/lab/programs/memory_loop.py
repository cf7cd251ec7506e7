# SPDX-License-Identifier: GPL-2.0-only
"""Runs inside a lab machine: triads without end on the CPUs named, while the host looks. Standard library only.

    memory_loop.py SECONDS TIMES CPUS:KIB ..     says "started", and so many times, for each team of CPUs, forwards and
                                                 backwards by turns, "begin", with arrays of so many KiB that are
                                                 filled, and "end" with the team's number and its accesses
"""

import json
import subprocess
import sys

ACCESSES = 1.5  # of an element: SSE2 takes two at once, two loads and a store


def start_triad(cpu: str, kib: str) -> subprocess.Popen:
    """Starts np-mem on a CPU, with arrays of so many KiB each; it prints a line when they are filled, then waits for commands."""
    arrays = ["--size", f"{kib}K", "--pages", "small"]
    return subprocess.Popen(["build/np-mem", "triad", "--kernel", "plain", *arrays, "--cpus", cpu],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)


def measure_team(team: int, triads: list[subprocess.Popen], seconds: str):
    """Has the triads of a team work at once, and prints their begin, and their end with the accesses of all. team: its number."""
    print(json.dumps({"event": "begin"}), flush=True)
    for triad in triads:
        triad.stdin.write(f"run {seconds}\n")
    results = [json.loads(triad.stdout.readline()) for triad in triads]
    accesses = ACCESSES * sum(result["operations"] for result in results)
    print(json.dumps({"event": "end", "team": team, "accesses": accesses}), flush=True)


def main():
    """Starts the teams' triads, and lets the teams work in turn, forwards and backwards, `times` times."""
    print(json.dumps({"event": "started"}), flush=True)
    seconds, times = sys.argv[1], int(sys.argv[2])
    teams = []
    for team in sys.argv[3:]:
        cpus, kib = team.split(":")
        teams.append([start_triad(cpu, kib) for cpu in cpus.split(",")])
    for team in teams:
        for triad in team:
            triad.stdout.readline()  # ready
    for turn in range(times):
        forwards = range(len(teams))
        for number in reversed(forwards) if turn % 2 else forwards:
            measure_team(number, teams[number], seconds)
    for team in teams:
        for triad in team:
            triad.communicate("quit\n")


if __name__ == "__main__":
    main()
