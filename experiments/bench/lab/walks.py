# SPDX-License-Identifier: GPL-2.0-only
"""What translations cost: chases through pages of 4 KiB and through huge ones, beside the TLB and the caches of the machine file."""

import tempfile
from pathlib import Path

from experiments.bench.lab import inside
from experiments.bounds import Outcome
from experiments.lab import machine

PROGRAM = "build/lab/programs/pages"
# demo-2s with the TLB of a processor of 2010 (Westmere, as cpuid leaf 2 names it), and a last level that page tables leave.
TLB = {"l1_entries": 64, "l1_huge_entries": 32, "l2_entries": 512, "l2_huge_entries": 0, "l2_latency_ns": 2.9}
LLC = {'size = "4 MiB"': 'size = "512 KiB"'}
FEW, NEAR, FAR = (32, 1), (2048, 1), (12000, 8)  # pages, and how many pages they are apart


def measure_ns(machine_file: Path, tables_node: int) -> dict[tuple[int, int], tuple[float, float]]:
    """Measures chases with page tables on a node; returns ns of a load with pages of 4 KiB and with huge ones, by FEW, NEAR, FAR."""
    words = [str(number) for case in (FEW, NEAR, FAR) for number in case]
    rows = inside.run_program(str(machine_file), PROGRAM, str(tables_node), *words)
    found = {(row["pages"], row["stride"], row["huge"]): row["ns"] for row in rows}
    return {case: (found[*case, 0], found[*case, 1]) for case in (FEW, NEAR, FAR)}


def measure_walks() -> Outcome:
    """Measures chases with page tables on either node, and compares what 4 KiB pages cost more with the machine file."""
    out = Outcome()
    with tempfile.TemporaryDirectory() as folder:
        path = inside.write_variant(Path(folder), "demo-2s", "demo-2s-tlb", LLC, "tlb", TLB)
        described = machine.find(str(path))
        found = {tables_node: measure_ns(path, tables_node) for tables_node in (0, 1)}
    first, second = (level["latency_ns"] for level in described.cache[:2])
    latency_ns, link_ns = described.model["dram"]["latency_ns"]["value"], described.model["link"][0]["latency_ns"]["value"]
    out.say(f"{described.name}, ns of a load: pages of 4 KiB, huge pages; page tables local, and on the other node")
    for case in (FEW, NEAR, FAR):
        row = "".join(f"{ns:10.2f}" for by_case in found.values() for ns in by_case[case])
        out.say(f"  {case[0]:6} pages, {case[1]} apart{row}")
    near_ns = TLB["l2_latency_ns"] + second
    for tables_node, by_case in found.items():
        where = "page tables on the other node" if tables_node else "page tables local"
        walk_ns = {case: small - huge for case, (small, huge) in by_case.items()}
        out.between(f"walks: pages of the first TLB, {where}", walk_ns[FEW], -0.1 * first, 0.1 * first, "{:.2f} ns")
        if not tables_node:
            out.between(f"walks: tables in the second cache, {where}", walk_ns[NEAR], 0.85 * near_ns, 1.15 * near_ns, "{:.2f} ns")
        far_ns = latency_ns + link_ns * tables_node
        out.between(f"walks: tables in memory, {where}", walk_ns[FAR], 0.85 * far_ns, 1.15 * far_ns, "{:.2f} ns")
    return out
