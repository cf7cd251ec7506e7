# SPDX-License-Identifier: GPL-2.0-only
"""The cost of the simulation for the host: time of its processors, and memory, beside a functional machine."""

import json
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from experiments.bench.lab import inside
from experiments.bench.lab.endurance import find_qemu
from experiments.bounds import Outcome

SMALL, EIGHT, LARGEST = "demo-2s", "xeon-e5620-2s", "opteron-6172-4s"
LIMIT = 900
ROUNDS = 3  # boots of either kind, in turn: the host is faster at times
TIMES = 4   # in each
PROGRAMS = {
    "first touches": ["build/lab/programs/new_pages", "4"],
    "Python": ["python3", "-c", "print(len({str(i): sorted([i, -i, i % 7]) for i in range(20000)}))"],
    "short processes": ["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do /bin/true; done"],
}
# Million instructions a second, of the host's time
PUBLISHED = (
    "about 0.1 detailed, 1 to 10 simplified, of a whole system: Sandberg, Hagersten, Black-Schaffer, Full Speed Ahead,",
    "  IISWC 2015, whose simulator is gem5",
    "up to several: Sniper, of programs without a kernel: Sniper: scalable and accurate parallel multi-core simulation",
    "up to 300 detailed, 1500 simplified, by 16 processors: Sanchez, Kozyrakis, ZSim, of programs without a kernel",
    "near 1000 by statistical sampling, a few 0.1 without: QFlex 3.0, of a whole system: its tutorial at MICRO 2025",
)

# Small pages lie one array after the other, an odd number of pages apart. Arrays a multiple of 2 MiB apart may meet
# in one entry of QEMU's own table of translations or not, run by run, which is a factor of two for either side.
ARRAY_KIB = 4 * 1041


@dataclass(frozen=True)
class Team:
    """Names CPUs that work at once, and the size of an array of each."""
    cpus: list[int]
    kib: int = ARRAY_KIB

    def __str__(self) -> str:
        return f"{','.join(map(str, self.cpus))}:{self.kib}"


@dataclass
class Measured:
    """Holds the accesses of a team's turn, and what they took of the host."""
    accesses: float
    taken: float    # seconds
    busiest: float  # seconds of a processor, of QEMU's busiest thread: one CPU that is kept busy
    all: float      # of all its threads, idle CPUs' and devices' too


@dataclass
class Run:
    """Holds what was measured in one machine."""
    boot: float      # seconds until the command ran
    boot_cpu: float  # of QEMU's, by then
    measured: list[dict[int, Measured]]  # so many times, by team
    data_mib: float  # anonymous, of QEMU; the guest's own memory is not in it
    code_mib: float  # translated


def read_cpu_seconds(pid: int) -> Counter[str]:
    """Reads the processor seconds of each thread of a process since its start, by thread ID as text."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return Counter({thread.name: int((thread / "schedstat").read_text(encoding="ascii").split()[0]) / 1e9
                    for thread in threads})


def read_anonymous_mib(pid: int) -> tuple[float, float]:
    """Reads the anonymous MiB of a process: of data, and of code that was translated."""
    data_kib = code_kib = 0
    executable = False
    for line in Path(f"/proc/{pid}/smaps").read_text(encoding="utf-8").splitlines():
        words = line.split()
        if not words[0].endswith(":"):  # the head of a mapping: addresses and permissions
            executable = "x" in words[1]
        elif words[0] == "Anonymous:" and executable:
            code_kib += int(words[1])
        elif words[0] == "Anonymous:":
            data_kib += int(words[1])
    return data_kib / 1024, code_kib / 1024


@contextmanager
def run_lab(machine: str, timed: bool, *argv: str) -> Iterator[subprocess.Popen]:
    """Runs a program in a timed or functional machine while the block runs, and waits for its end. RuntimeError: it fails."""
    command = inside.build_command(machine, *argv, timeout=LIMIT, timed=timed)
    with subprocess.Popen(command, cwd=inside.ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        yield run
        _, errors = run.communicate()
    if run.returncode:
        raise RuntimeError(f"{machine}: status {run.returncode}: {errors}")


def read_event(run: subprocess.Popen) -> dict:
    """Waits for the next event of in_turn.py or memory_loop.py and returns its object. RuntimeError: the lab ended before."""
    line = run.stdout.readline()
    if not line:
        raise RuntimeError(f"the lab ended early: {run.stderr.read()}")
    return json.loads(line)


def measure_turn(run: subprocess.Popen, qemu: int) -> tuple[int, Measured]:
    """Measures the next turn of a team; returns the team's number and what the turn took. qemu: QEMU's PID."""
    read_event(run)  # "begin"
    begin, cpu_s = time.monotonic(), read_cpu_seconds(qemu)
    end = read_event(run)
    used_s = read_cpu_seconds(qemu) - cpu_s
    return end["team"], Measured(end["accesses"], time.monotonic() - begin, max(used_s.values()), used_s.total())


def run_triads(machine: str, timed: bool, teams: list[Team], seconds: float, times: int = TIMES) -> Run:
    """Runs the teams in turn, `times` times, each for `seconds` of the machine's time; returns what they took of the host."""
    start = time.monotonic()
    words = ["python3", "experiments/bench/lab/programs/memory_loop.py", str(seconds), str(times), *map(str, teams)]
    with run_lab(machine, timed, *words) as run:
        read_event(run)  # "started"
        qemu, boot = find_qemu(run), time.monotonic() - start
        boot_cpu = read_cpu_seconds(qemu).total()
        measured = [dict(measure_turn(run, qemu) for _ in teams) for _ in range(times)]
        return Run(boot, boot_cpu, measured, *read_anonymous_mib(qemu))


def compute_rates(runs: list[Run], clock: str, team: int = 0) -> list[float]:
    """Returns million accesses a second of each turn of a team. clock: the field of Measured whose s are counted; team: its number."""
    turns = [by_team[team] for run in runs for by_team in run.measured]
    return [turn.accesses / getattr(turn, clock) / 1e6 for turn in turns]


def measure_one_cpu(out: Outcome):
    """Measures a triad on one CPU, timed beside functional, in million accesses a second of the host's time, and the boot."""
    pairs = [(run_triads(SMALL, timed=False, teams=[Team([0])], seconds=1), run_triads(SMALL, timed=True, teams=[Team([0])], seconds=0.15))
             for _ in range(ROUNDS)]
    functional, timed = (list(runs) for runs in zip(*pairs, strict=True))
    out.say("memory operations of a triad on one CPU, million a second of its thread's processor time;")
    out.say(f"median and range of {ROUNDS * TIMES}:")
    for name, runs in (("functional", functional), ("timed", timed)):
        of_thread, of_qemu = compute_rates(runs, "busiest"), compute_rates(runs, "all")
        out.say(f"  {name:10} {median(of_thread):6.1f}  ({min(of_thread):.1f} to {max(of_thread):.1f})   "
                f"of all of QEMU's threads {median(of_qemu):6.1f}")
    out.at_least("speed: one CPU, timed beside functional",
                 median(compute_rates(timed, "busiest")) / median(compute_rates(functional, "busiest")), 0.40)
    boots = [run.boot for run in timed]
    out.say(f"boot of {SMALL} until its command runs: {min(boots):.1f} to {max(boots):.1f} s, "
            f"{min(run.boot_cpu for run in timed):.1f} s of processors")
    out.at_most(f"boot of {SMALL}, slowest of {ROUNDS}", max(boots), 40, "{:.1f} s")


def measure_eight_cpus(out: Outcome):
    """Measures two CPUs and eight in turn in one machine, as another boot finds another host, and checks the ratio of each turn.

    Two have arrays four times as large: what all sweep fits the host's own caches on both sides, or on neither."""
    teams = {"two": Team([0, 4], 4 * ARRAY_KIB + 4), "eight": Team(list(range(8)))}
    runs = [run_triads(EIGHT, timed=True, teams=list(teams.values()), seconds=0.1, times=2 * TIMES) for _ in range(ROUNDS)]
    two, eight = (compute_rates(runs, "taken", team) for team in range(len(teams)))
    ratios = [of_eight / of_two for of_eight, of_two in zip(eight, two, strict=True)]
    out.say(f"all CPUs together, million a second of time, median and range of {len(ratios)} turns:")
    for name, found in (("two", two), ("eight", eight)):
        out.say(f"  {name:9} {median(found):6.1f}  ({min(found):.1f} to {max(found):.1f})")
    out.say(f"eight, of what two made in the same turn: {min(ratios):.0%} to {max(ratios):.0%}")
    out.at_least("speed: eight CPUs, of what two make, median", median(ratios), 0.75)


@dataclass
class Ran:
    """Holds what one run of a program took."""
    host: float              # seconds of a processor, of QEMU's busiest thread
    taken: float             # seconds
    own: float               # of the machine's own time
    instructions: int | None


def run_programs(timed: bool) -> dict[str, list[Ran]]:
    """Runs each program TIMES times in one machine, after one run that is not counted; returns what each run took, by program."""
    found: dict[str, list[Ran]] = {name: [] for name in PROGRAMS}
    words = ["python3", "experiments/bench/lab/programs/in_turn.py", str(TIMES + 1), json.dumps(PROGRAMS)]
    with run_lab(SMALL, timed, *words) as run:
        read_event(run)  # "started"
        qemu = find_qemu(run)
        for _ in range((TIMES + 1) * len(PROGRAMS)):
            read_event(run)  # "begin"
            begin, cpu_s = time.monotonic(), read_cpu_seconds(qemu)
            end = read_event(run)
            thread_s = max((read_cpu_seconds(qemu) - cpu_s).values())
            found[end["program"]].append(Ran(thread_s, time.monotonic() - begin, end["seconds"], end.get("instructions")))
    return {name: counted for name, (_first, *counted) in found.items()}


def measure_rate(out: Outcome):
    """Measures programs in units of other simulators' papers: MIPS, and host s for a simulated s."""
    functional, timed = run_programs(timed=False), run_programs(timed=True)
    out.say(f"programs on one CPU of {SMALL}, median of {TIMES}: seconds of its thread's processor time; million")
    out.say("simulated instructions a second, and seconds for a second that is simulated, of the timed one:")
    out.say("  program           functional   timed   part    MIPS   s for a second")
    for name in functional:
        plain, ran = (median(run.host for run in runs[name]) for runs in (functional, timed))
        mips = median(run.instructions / run.taken / 1e6 for run in timed[name])
        slower = median(run.taken / run.own for run in timed[name])
        out.data[name] = {"functional_s": plain, "timed_s": ran, "mips": mips, "host_s_per_simulated_s": slower}
        out.say(f"  {name:16} {plain:11.2f} {ran:7.2f} {plain / ran:6.0%} {mips:7.1f} {slower:9.1f}")
    out.say("published, in MIPS, each on another host, with another processor's model:")
    for line in PUBLISHED:
        out.say(f"  {line}")


def measure_memory(out: Outcome):
    """Measures the MiB of QEMU's own memory, functional and timed, and checks the plugin's part."""
    functional, timed = (run_triads(LARGEST, timed=timed, teams=[Team([0, 47])], seconds=0.05, times=1) for timed in (False, True))
    out.say(f"QEMU's own memory for {LARGEST}, without the guest's, in MiB:")
    for name, run in (("functional", functional), ("timed", timed)):
        out.say(f"  {name:10} data {run.data_mib:.0f}, translated code {run.code_mib:.0f}")
    plugin_mib = timed.data_mib + timed.code_mib - functional.data_mib - functional.code_mib
    out.at_most(f"memory of the plugin: {LARGEST}", plugin_mib, 200, "{:.0f} MiB")


def measure_speed() -> Outcome:
    """Measures what the simulation costs the host: one CPU, eight, programs, and memory; returns the outcome."""
    out = Outcome()
    measure_one_cpu(out)
    measure_eight_cpus(out)
    measure_rate(out)
    measure_memory(out)
    return out
