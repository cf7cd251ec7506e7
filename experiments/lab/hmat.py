# SPDX-License-Identifier: GPL-2.0-only
"""The firmware's table of latencies and bandwidths (ACPI's HMAT) of a machine that has memory without CPUs.

The kernel makes memory tiers, demotion targets and interleave weights of it. Memory of the CPUs' own nodes alone needs no
tiers, and such a machine has no table, as most servers of that kind.
"""

from experiments.lab.machine import Machine


def is_described(machine: Machine) -> bool:
    """Checks whether the machine has latencies and a node that has memory without CPUs, which is what the table is for."""
    return bool(machine.access) and any(node.memory and not node.cpus for node in machine.nodes)


def find_nearest(machine: Machine, memory_node: int) -> int:
    """Finds the node whose CPUs have the lowest latency to the memory of a node; the first of equal ones."""
    latencies = [(row[memory_node], node) for node, row in enumerate(machine.access["latency_ns"]) if row[memory_node] is not None]
    return min(latencies)[1]


def format_initiator(machine: Machine, node: int) -> str:
    """Formats the initiator for QEMU's option of a node; "" for one with CPUs, which is its own."""
    return "" if not is_described(machine) or machine.nodes[node].cpus else f",initiator={find_nearest(machine, node)}"


def build_options(machine: Machine) -> list[str]:
    """Builds QEMU's options for the table, which come after those of the nodes; none where the machine has no table."""
    if not is_described(machine):
        return []
    words = ["-machine", "hmat=on"]
    for data_type, name, table, unit in (("access-latency", "latency", "latency_ns", ""),
                                         ("access-bandwidth", "bandwidth", "bandwidth_mb_s", "M")):
        for cpus, row in enumerate(machine.access[table]):
            for memory, value in enumerate(row):
                if value is not None:
                    words += ["-numa", f"hmat-lb,initiator={cpus},target={memory},hierarchy=memory,data-type={data_type},"
                                       f"{name}={value:.0f}{unit}"]
    return words
