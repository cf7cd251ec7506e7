# SPDX-License-Identifier: GPL-2.0-only
"""What CPUs cost each other that use one line, beside the machine file, whatever the host does meanwhile."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from statistics import fmean

from experiments.bench.lab import inside
from experiments.bounds import Outcome
from experiments.lab import machine

MACHINES = ("demo-2s", "xeon-e5620-2s")
PROGRAM = "build/lab/programs/lines"
HOSTS = {"idle": (2, 0), "one processor": (1, 0), "four busy processes": (2, 4)}  # processors that the lab has, busy processes beside it
REPEATS = {"idle": 3, "one processor": 1, "four busy processes": 1}
PAUSE_NS = 20  # of the plugin
HAND_OVERS = ("exchange", "store", "pause")

Pair = tuple[int, ...]
Figures = dict[tuple[str, Pair], list[dict]]


def find_node(described: machine.Machine, cpu: int) -> int:
    return next(number for number, node in enumerate(described.nodes) if cpu in node.cpus)


def read_transfer_ns(described: machine.Machine, pair: Pair, home: int) -> float:
    """Reads from the machine file what a line takes from the second CPU of a pair to the first; its memory is on node `home`."""
    reader, owner = (find_node(described, cpu) for cpu in pair)
    costs = {name: entry["value"] for name, entry in described.model.get("c2c", {}).items()}
    last = described.cache[-1]["latency_ns"]
    if reader == owner:
        return costs.get("local_ns") or last
    link = described.model["link"][0]["latency_ns"]["value"]
    remote = costs.get("remote_ns") or (costs.get("local_ns") or last) + link
    return remote if home == owner else costs.get("remote_home_ns") or remote


def choose_pairs(described: machine.Machine) -> tuple[Pair, Pair]:
    """Chooses two CPUs of one node, and two of two nodes."""
    first, second = (node.cpus for node in described.nodes[:2])
    return (first[0], first[1]), (first[0], second[0])


def list_tests(described: machine.Machine) -> Iterator[tuple[str, Pair]]:
    near, far = choose_pairs(described)
    four = (*near, *described.nodes[1].cpus[:2])
    for pair in (near, far):
        for test in ("own", *HAND_OVERS, "add", "words", "stores", "ticket", "set", "dirty"):
            yield test, pair
    yield "add", four
    yield "ticket", four


@contextmanager
def set_host(name: str) -> Iterator[list[str]]:
    """Makes a host's load while the block runs; yields the words before the lab's command."""
    processors, busy = HOSTS[name]
    with inside.load_host(busy):
        yield ["taskset", "-c", f"0-{processors - 1}"]


def run_tests(described: machine.Machine, host: str) -> list[dict]:
    """Runs the tests in a machine, with memory of node 0."""
    words = [word for test, cpus in list_tests(described) for word in (test, ",".join(map(str, cpus)))]
    with set_host(host) as before:
        return inside.run_program(described.name, PROGRAM, "0", *words, timeout=1500, before=before)


def measure_figures(described: machine.Machine) -> dict[str, Figures]:
    """Measures all tests under each load of the host."""
    found: dict[str, Figures] = {host: defaultdict(list) for host in HOSTS}
    for host, times in REPEATS.items():
        for _ in range(times):
            for line in run_tests(described, host):
                found[host][line["test"], tuple(line["cpus"])].append(line)
    return found


class Checked:
    """Checks the figures of a machine, of all runs together."""

    def __init__(self, out: Outcome, described: machine.Machine, figures: dict[str, Figures]):
        self.out, self.described, self.figures = out, described, figures

    def list_ns(self, test: str, cpus: Pair) -> list[float]:
        return [line["ns"] for by_test in self.figures.values() for line in by_test[test, cpus]]

    def name_pair(self, pair: Pair) -> str:
        same = len({find_node(self.described, cpu) for cpu in pair}) == 1
        return f"{self.described.name}, {len(pair)} CPUs of {'a node' if same else 'two nodes'}"

    def find_mean_transfer(self, cpus: Pair) -> float:
        return fmean(read_transfer_ns(self.described, pair, 0) for a, b in combinations(cpus, 2) for pair in ((a, b), (b, a)))

    def show(self):
        self.out.say(f"{self.described.name}: ns of a hand-over, an operation, an acquisition or a line, by the host's load")
        for test, cpus in list_tests(self.described):
            values = ["  ".join(f"{line['ns'] if test != 'dirty' else line['rounds'][-1]:8.2f}" for line in by_test[test, cpus])
                      for by_test in self.figures.values()]
            self.out.say(f"  {test:9} {','.join(map(str, cpus)):10}" + " |".join(values))

    def check_hand_overs(self, pair: Pair):
        wanted = self.find_mean_transfer(pair)
        for test in HAND_OVERS:
            values = self.list_ns(test, pair)
            more = PAUSE_NS if test == "pause" else 0
            worst = max(values, key=lambda ns: abs(ns / wanted - 1))
            self.out.between(f"{self.name_pair(pair)}: a hand-over by {test}, the worst", worst, 0.85 * wanted, 1.15 * wanted + more, "{:.1f} ns")
            self.out.at_most(f"{self.name_pair(pair)}: a hand-over by {test}, its runs apart", max(values) / min(values) - 1, 0.05)

    def check_sharing(self, pair: Pair, least: float):
        wanted, own = self.find_mean_transfer(pair), fmean(self.list_ns("own", pair))
        for test in ("words", "stores"):
            self.out.at_least(f"{self.name_pair(pair)}: {test} of one line, by lines of their own, the least",
                              min(self.list_ns(test, pair)) / own, least, "{:.0f}")
        ticket = self.list_ns("ticket", pair)
        for ns in (min(ticket), max(ticket)):
            self.out.between(f"{self.name_pair(pair)}: an acquisition of a ticket lock, in hand-overs", ns / wanted, 2 * 0.75, 3 * 1.25, "{:.2f}")
        handed = min(line["handed_over"] for by_test in self.figures.values() for line in by_test["ticket", pair])
        self.out.at_least(f"{self.name_pair(pair)}: a ticket lock that is handed over, the least", handed, 0.45)

    def check_additions(self, cpus: Pair):
        wanted = self.find_mean_transfer(cpus)
        worst = max(self.list_ns("add", cpus), key=lambda ns: abs(ns / wanted - 1))
        self.out.between(f"{self.name_pair(cpus)}: an addition to one counter, the worst", worst, 0.8 * wanted, 1.2 * wanted, "{:.1f} ns")

    def check_dirty(self, pair: Pair):
        rounds = [line["rounds"] for by_test in self.figures.values() for line in by_test["dirty", pair]]
        apart = max(max(one) / min(one) for one in rounds) - 1
        wanted = read_transfer_ns(self.described, pair, 0)
        worst = max((ns for one in rounds for ns in one), key=lambda ns: abs(ns / wanted - 1))
        self.out.at_most(f"{self.name_pair(pair)}: lines that the other writes anew, rounds apart", apart, 0.02)
        self.out.between(f"{self.name_pair(pair)}: such a line, the worst", worst, 0.95 * wanted, 1.05 * wanted + 1, "{:.1f} ns")


def measure_lines() -> Outcome:
    """Measures hand-overs, additions, locks and false sharing under each load of the host, and compares them with the machine files."""
    out = Outcome()
    for name in MACHINES:
        described = machine.find(name)
        checked = Checked(out, described, measure_figures(described))
        checked.show()
        near, far = choose_pairs(described)
        for pair, least in ((near, 20), (far, 40)):
            checked.check_hand_overs(pair)
            checked.check_additions(pair)
            checked.check_sharing(pair, least)
            checked.check_dirty(pair)
        checked.check_additions((*near, *described.nodes[1].cpus[:2]))
    return out
