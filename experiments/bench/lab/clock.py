# SPDX-License-Identifier: GPL-2.0-only
"""Timers, ticks and processors' time by the guest's clock, and boots beside each other, by kernel and host load."""

from collections import defaultdict

from experiments.bench.lab import lab_run
from experiments.bounds import Outcome
from experiments.lab import kernels, simulated

MACHINE = "demo-2s"
HOST_LOADS = (0, 0, 4)  # processes that keep the host busy, by boot
LATEST_US = 5
PRECISE = 0.01
BOOTS_APART = 0.003


def select_rows(measured: list[dict], what: str) -> list[dict]:
    return [line for line in measured if line["measure"] == "timers" and line["what"] == what]


def ticks_off(measured: list[dict]) -> float:
    """Share of the ticks of all busy CPUs that is missing or too much."""
    lines = select_rows(measured, "ticks")
    expected = sum(line["real"] for line in lines) * simulated.JIFFIES_PER_S
    return abs(sum(line["count"] for line in lines) / expected - 1)


def boot(series: str, load: int) -> list[dict]:
    with lab_run.host_load(load):
        return lab_run.measure(MACHINE, "timers", "latency", "bandwidth", timeout=1500, kernel=series)


def speeds(measured: list[dict]) -> dict[tuple, float]:
    return {(line["measure"], line["node"], line["memory"]): line.get("ns", line.get("mb_s"))
            for line in measured if line["measure"] in ("latency", "bandwidth")}


def clock() -> Outcome:
    out, worst, data = Outcome(), defaultdict(float), []
    out.say("kernel   host load   late, us: sleep, timerfd, most of both   used/real - 1   ticks off")
    for series in kernels.known_series():
        found = defaultdict(list)
        for load in HOST_LOADS:
            measured = boot(series, load)
            data.append({"kernel": series, "load": load, "measured": measured})
            late = {what: max(line["mean"] for line in select_rows(measured, what)) for what in ("sleep", "timerfd")}
            most = max(line["most"] for what in late for line in select_rows(measured, what))
            used = max((line["used"] / line["real"] - 1 for line in select_rows(measured, "busy")), key=abs)
            off = ticks_off(measured)
            out.say(f"{series:9}{load:9}{late['sleep']:19.2f}{late['timerfd']:9.2f}{most:15.1f}{used:+16.2%}{off:12.2%}")
            for name, value in (("late", max(late.values())), ("used", abs(used)), ("ticks", off)):
                worst[name] = max(worst[name], value)
            for key, value in speeds(measured).items():
                found[key].append(value)
        apart = max(max(values) / min(values) - 1 for values in found.values())
        out.say(f"{series:9}{len(HOST_LOADS)} boots apart, latency of a chase and bandwidth of triads: {apart:.2%}")
        worst["apart"] = max(worst["apart"], apart)
    out.at_most("sleep and timerfd of 100 us, mean, us late", worst["late"], LATEST_US, "{:.2f}")
    out.at_most("user and system time of busy CPUs, against the time", worst["used"], PRECISE, "{:.2%}")
    out.at_most("ticks of busy CPUs, against CONFIG_HZ", worst["ticks"], PRECISE, "{:.2%}")
    out.at_most("boots of one kernel apart", worst["apart"], BOOTS_APART, "{:.2%}")
    out.data = {"boots": data}
    return out
