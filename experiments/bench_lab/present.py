# SPDX-License-Identifier: GPL-2.0-only
"""Predictions of `numaplace plan` for the present and for another placement of tasks, beside the counters."""

from experiments.bench_lab import inside
from experiments.bench_lab.placed import SCENARIOS
from experiments.claims import Outcome

MACHINE = "demo-2s"
ALLOWED = 0.10
GB = 1e9
GROUPS = ("streams", "chases", "redis", "mix")


def errors(record: dict) -> tuple[float, float]:
    """Predicted / counted - 1, of the present and of the other placement."""
    predicted = record["traffic"]["predicted"]["value"]
    now, then = record["counted"]["bytes_per_s"], record["counted_then"]["bytes_per_s"]
    return predicted / now - 1, predicted * record["gain"] / then - 1


def row(record: dict) -> str:
    now, then = errors(record)
    predicted = record["traffic"]["predicted"]["value"]
    return (f"{record['scenario']:16} {record['kind']:7}{record['cpu']:4}{record['memory']:4}"
            f"{record['counted']['bytes_per_s'] / GB:9.3f}{predicted / GB:10.3f}{now:+8.1%}  "
            f"{record['then']:23}{record['counted_then']['bytes_per_s'] / GB:8.3f}"
            f"{predicted * record['gain'] / GB:10.3f}{then:+8.1%}")


def show(records: list[dict]) -> Outcome:
    out = Outcome(data={"records": records})
    models = {record["model"] for record in records}
    out.say(f"DRAM traffic of each task in GB/s; model: {', '.join(sorted(models))}")
    out.say("                             as it is placed now          after the plan of")
    out.say("scenario         task    CPU MEM  counted predicted   error  policy                  counted predicted   error")
    out.lines += [row(record) for record in records]
    out.say("worst error       of the present  of the other placement")
    for group in GROUPS:
        of = [errors(record) for record in records if record["group"] == group]
        if not of:
            continue
        worst, worst_then = (max(map(abs, column)) for column in zip(*of, strict=True))
        out.say(f"{group:16}{worst:16.1%}{worst_then:24.1%}")
        out.at_most(f"{group}: predicted present, worst error", worst, ALLOWED)
    return out


def present() -> Outcome:
    return show(inside.run(MACHINE, "python3", "-m", "experiments.bench_lab.placed", "--calibrate",
                           "--penalties", *SCENARIOS, timeout=1800))
