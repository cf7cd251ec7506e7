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

PROGRAM = "build/lab/programs/lines"
HOSTS = {"idle": (2, 0), "one processor": (1, 0), "four busy processes": (2, 4)}  # processors that the lab has, busy processes beside it
REPEATS = {"idle": 3, "one processor": 1, "four busy processes": 1}
PAUSE_NS = 20  # of the plugin
HOME = 0  # node of the lines' memory
HAND_OVERS = ("exchange", "store", "pause")

Cpus = tuple[int, ...]  # of a test: a pair, or four
Figures = dict[tuple[str, Cpus], list[dict]]  # by test and CPUs; of each run what PROGRAM prints: test, cpus, ns, handed_over, rounds


def find_node(described: machine.Machine, cpu: int) -> int:
    """Finds the node of a CPU. StopIteration: no node has it."""
    return next(number for number, node in enumerate(described.nodes) if cpu in node.cpus)


def read_transfer_ns(described: machine.Machine, pair: Cpus) -> float:
    """Reads from the machine file the ns in which a line, whose memory is on node HOME, comes from the second CPU's cache to the first CPU.

    A cost that [model.c2c] does not have is made of the last level's latency and the first link's."""
    reader, owner = (find_node(described, cpu) for cpu in pair)
    costs_ns = {name: entry["value"] for name, entry in described.model.get("c2c", {}).items()}
    local_ns = costs_ns.get("local_ns") or described.cache[-1]["latency_ns"]
    if reader == owner:
        return local_ns
    remote_ns = costs_ns.get("remote_ns") or local_ns + described.model["link"][0]["latency_ns"]["value"]
    return remote_ns if owner == HOME else costs_ns.get("remote_home_ns") or remote_ns


def choose_pairs(described: machine.Machine) -> tuple[Cpus, Cpus]:
    """Chooses two CPUs of one node, and two of two nodes."""
    first, second = (node.cpus for node in described.nodes[:2])
    return (first[0], first[1]), (first[0], second[0])


def choose_four(described: machine.Machine) -> Cpus:
    """Chooses two CPUs of each of two nodes."""
    return tuple(cpu for node in described.nodes[:2] for cpu in node.cpus[:2])


def list_tests(described: machine.Machine) -> Iterator[tuple[str, Cpus]]:
    """Yields each test of PROGRAM with its CPUs: all tests of a pair in a node and of a pair across nodes, two tests of four CPUs."""
    for pair in choose_pairs(described):
        for test in ("own", *HAND_OVERS, "add", "words", "stores", "ticket", "set", "dirty"):
            yield test, pair
    yield "add", choose_four(described)
    yield "ticket", choose_four(described)


@contextmanager
def set_host(host: str) -> Iterator[list[str]]:
    """Makes one of HOSTS' loads while the block runs; yields the words before the lab's command, which bind it to its processors."""
    processors, busy = HOSTS[host]
    with inside.load_host(busy):
        yield ["taskset", "-c", f"0-{processors - 1}"]


def run_tests(described: machine.Machine, host: str) -> list[dict]:
    """Boots the machine under one of HOSTS' loads and runs the tests; returns an object for each, as in Figures."""
    words = [word for test, cpus in list_tests(described) for word in (test, ",".join(map(str, cpus)))]
    with set_host(host) as before:
        return inside.run_program(described.name, PROGRAM, str(HOME), *words, timeout=1500, before=before)


def measure_figures(described: machine.Machine) -> dict[str, Figures]:
    """Measures all tests REPEATS times under each load of the host; returns the figures by load."""
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

    def list_ns(self, test: str, cpus: Cpus) -> list[float]:
        """Lists the ns of a test on these CPUs, of all runs under all loads; not for `dirty`, as read_ns() says."""
        return [line["ns"] for by_test in self.figures.values() for line in by_test[test, cpus]]

    def name_pair(self, pair: Cpus) -> str:
        same = len({find_node(self.described, cpu) for cpu in pair}) == 1
        return f"{self.described.name}, {len(pair)} CPUs of {'a node' if same else 'two nodes'}"

    def find_mean_transfer(self, cpus: Cpus) -> float:
        """Computes the mean of the machine file's ns of a transfer over all ordered pairs of these CPUs."""
        return fmean(read_transfer_ns(self.described, pair) for a, b in combinations(cpus, 2) for pair in ((a, b), (b, a)))

    @staticmethod
    def read_ns(line: dict) -> float:
        """Reads the ns of a hand-over, an operation or a line; of `dirty`, whose `ns` is of the whole test, those of its last chase."""
        return line["rounds"][-1] if line["test"] == "dirty" else line["ns"]

    def show_table(self):
        """Adds a table to the outcome: a row for each test and its CPUs, columns in ns for each run, divided by '|' between HOSTS."""
        self.out.say(f"{self.described.name}: ns of a hand-over, an operation, an acquisition or a line, by the host's load")
        for test, cpus in list_tests(self.described):
            values = ["  ".join(f"{self.read_ns(line):8.2f}" for line in by_test[test, cpus])
                      for by_test in self.figures.values()]
            self.out.say(f"  {test:9} {','.join(map(str, cpus)):10}" + " |".join(values))

    def check_hand_overs(self, pair: Cpus):
        """Checks that each run's hand-overs take the transfers of the machine file, and that runs are alike."""
        wanted_ns = self.find_mean_transfer(pair)
        for test in HAND_OVERS:
            values = self.list_ns(test, pair)
            pause_ns = PAUSE_NS if test == "pause" else 0
            worst = max(values, key=lambda ns: abs(ns / wanted_ns - 1))
            self.out.between(f"{self.name_pair(pair)}: a hand-over by {test}, the worst", worst, 0.85 * wanted_ns,
                             1.15 * wanted_ns + pause_ns, "{:.1f} ns")
            self.out.at_most(f"{self.name_pair(pair)}: a hand-over by {test}, its runs apart", max(values) / min(values) - 1, 0.05)

    def check_sharing(self, pair: Cpus, least_slowdown: float):
        """Checks what false sharing costs, as a multiple of lines of their own, and a ticket lock's hand-overs."""
        wanted_ns, own_ns = self.find_mean_transfer(pair), fmean(self.list_ns("own", pair))
        for test in ("words", "stores"):
            self.out.at_least(f"{self.name_pair(pair)}: {test} of one line, by lines of their own, the least",
                              min(self.list_ns(test, pair)) / own_ns, least_slowdown, "{:.0f}")
        ticket = self.list_ns("ticket", pair)
        for ns in (min(ticket), max(ticket)):
            self.out.between(f"{self.name_pair(pair)}: an acquisition of a ticket lock, in hand-overs", ns / wanted_ns,
                             2 * 0.75, 3 * 1.25, "{:.2f}")  # two or three, 25 % off
        share_handed_over = min(line["handed_over"] for by_test in self.figures.values() for line in by_test["ticket", pair])
        self.out.at_least(f"{self.name_pair(pair)}: a ticket lock that is handed over, the least", share_handed_over, 0.45)

    def check_additions(self, cpus: Cpus):
        """Checks that an addition to a counter that all these CPUs share takes a transfer of the machine file, within 20 %."""
        wanted_ns = self.find_mean_transfer(cpus)
        worst = max(self.list_ns("add", cpus), key=lambda ns: abs(ns / wanted_ns - 1))
        self.out.between(f"{self.name_pair(cpus)}: an addition to one counter, the worst", worst, 0.8 * wanted_ns,
                         1.2 * wanted_ns, "{:.1f} ns")

    def check_dirty(self, pair: Cpus):
        """Checks that a load of a line that the second CPU has written takes the machine file's transfer, and that chases are alike."""
        rounds_ns = [line["rounds"] for by_test in self.figures.values() for line in by_test["dirty", pair]]
        apart = max(max(of_run) / min(of_run) for of_run in rounds_ns) - 1
        wanted_ns = read_transfer_ns(self.described, pair)
        worst = max((ns for of_run in rounds_ns for ns in of_run), key=lambda ns: abs(ns / wanted_ns - 1))
        self.out.at_most(f"{self.name_pair(pair)}: lines that the other writes anew, rounds apart", apart, 0.02)
        self.out.between(f"{self.name_pair(pair)}: such a line, the worst", worst, 0.95 * wanted_ns, 1.05 * wanted_ns + 1, "{:.1f} ns")


def measure_lines(name: str) -> Outcome:
    """Measures hand-overs, additions, locks and false sharing on one machine under each load of the host; compares them with its file."""
    out, described = Outcome(), machine.find(name)
    checked = Checked(out, described, measure_figures(described))
    checked.show_table()
    near, far = choose_pairs(described)
    for pair, least_slowdown in ((near, 20), (far, 40)):
        checked.check_hand_overs(pair)
        checked.check_additions(pair)
        checked.check_sharing(pair, least_slowdown)
        checked.check_dirty(pair)
    checked.check_additions(choose_four(described))
    return out
