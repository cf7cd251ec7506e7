# SPDX-License-Identifier: GPL-2.0-only
"""Predictions of `numaplace plan` for the present and for another placement of tasks, beside what is counted."""

from experiments.bench.lab import inside
from experiments.bench.lab.placed import SCENARIOS
from experiments.bounds import Outcome

# Of each machine: where its contention model comes from.
MODELS = {"demo-2s": ("--calibrate",), "xeon-e5620-2s": ("--model", "xeon-e5620-2s")}
ALLOWED, ALLOWED_OTHER, SHARE = 0.10, 0.15, 0.9
LEAST_TRAFFIC = 0.1e9  # bytes a second, a hundredth of a controller's; of less, what else runs on the CPU is a large part
GB = 1e9
GROUPS = ("streams", "chases", "redis", "mix")


def compute_errors(record: dict) -> tuple[float, float]:
    """Computes predicted / counted - 1: of the traffic at present, and of the gain by the other placement. record: of placed.py."""
    traffic = record["traffic"]["predicted"]["value"] / record["counted"]["bytes_per_s"]
    return traffic - 1, record["gain"] / compute_gain(record) - 1


def compute_gain(record: dict) -> float:
    """Computes what the task gets done (requests of servers and clients, else instructions) by the other placement / at present."""
    return record["counted_then"]["progress_per_s"] / record["counted"]["progress_per_s"]


def format_row(record: dict) -> str:
    """Formats a task's row: traffic in GB/s and gain, each counted and predicted, with the errors."""
    predicted = record["traffic"]["predicted"]["value"]
    now, then = compute_errors(record)
    return (f"{record['scenario']:16} {record['kind']:7}{record['cpu']:4}{record['memory']:4}"
            f"{record['counted']['bytes_per_s'] / GB:9.3f}{predicted / GB:10.3f}{now:+8.1%}  "
            f"{record['then']:38}{compute_gain(record):8.3f}{record['gain']:10.3f}{then:+8.1%}")


def show_table(out: Outcome, machine: str, records: list[dict]):
    """Shows a head with the contention models, and a row for each record of a machine."""
    models = {record["model"] for record in records}
    out.say(f"{machine}; model: {', '.join(sorted(models))}")
    out.say("                             DRAM traffic now, GB/s       gain by the plan of")
    out.say("scenario         task    CPU MEM  counted predicted   error  "
            "policy                                 counted predicted   error")
    out.lines += [format_row(record) for record in records]
    out.say()


def check_bounds(out: Outcome, machine: str, records: list[dict]):
    """Checks, for each group of scenarios of a machine, the worst error of the traffic and the share of gains within bounds."""
    for group in GROUPS:
        of_group = [record for record in records if record["group"] == group]
        now = [abs(compute_errors(record)[0]) for record in of_group if record["counted"]["bytes_per_s"] >= LEAST_TRAFFIC]
        then = [abs(compute_errors(record)[1]) for record in of_group]
        within = sum(error <= ALLOWED_OTHER for error in then)
        out.say(f"{machine:16}{group:12}{max(now):15.1%}{max(then):24.1%}{within:22} of {len(of_group)}")
        out.at_most(f"{machine}, {group}: traffic at present, worst error", max(now), ALLOWED)
        out.at_least(f"{machine}, {group}: gains within {ALLOWED_OTHER:.0%}", within / len(of_group), SHARE)


def measure_present() -> Outcome:
    """Measures all scenarios of both machines, shows and checks them; returns the outcome."""
    out = Outcome(data={"records": []})
    by_machine = {machine: inside.run_program(machine, "python3", "-m", "experiments.bench.lab.placed", "--machine", machine, *model,
                                            "--penalties", timeout=1800)
                for machine, model in MODELS.items()}
    for machine, records in by_machine.items():
        assert {record["scenario"] for record in records} == set(SCENARIOS[machine])
        show_table(out, machine, records)
    out.say("worst error                     of the present  of the other placement  within 15 %")
    for machine, records in by_machine.items():
        check_bounds(out, machine, records)
    out.data["records"] = by_machine
    return out
