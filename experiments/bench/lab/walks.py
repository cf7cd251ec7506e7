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


def measure_ns(machine_file: Path, tables: int) -> dict[tuple[int, int], tuple[float, float]]:
    """Measures chases with page tables on a node. Returns ns of a load with pages of 4 KiB and with huge ones, by pages and distance."""
    words = [str(number) for case in (FEW, NEAR, FAR) for number in case]
    rows = inside.run_program(str(machine_file), PROGRAM, str(tables), *words)
    found = {(row["pages"], row["stride"], row["huge"]): row["ns"] for row in rows}
    return {case: (found[*case, 0], found[*case, 1]) for case in (FEW, NEAR, FAR)}


def measure_walks() -> Outcome:
    """Measures chases with page tables on either node, and compares what 4 KiB pages cost more with the machine file."""
    out = Outcome()
    with tempfile.TemporaryDirectory() as folder:
        path = inside.write_variant(Path(folder), "demo-2s", "demo-2s-tlb", LLC, "tlb", TLB)
        described = machine.find(str(path))
        found = {tables: measure_ns(path, tables) for tables in (0, 1)}
    first, second = (level["latency_ns"] for level in described.cache[:2])
    latency, link = described.model["dram"]["latency_ns"]["value"], described.model["link"][0]["latency_ns"]["value"]
    out.say(f"{described.name}, ns of a load: pages of 4 KiB, huge pages; page tables local, and on the other node")
    for case in (FEW, NEAR, FAR):
        row = "".join(f"{ns:10.2f}" for tables in found for ns in found[tables][case])
        out.say(f"  {case[0]:6} pages, {case[1]} apart{row}")
    near = TLB["l2_latency_ns"] + second
    for tables, by_case in found.items():
        where = "page tables on the other node" if tables else "page tables local"
        more = {case: small - huge for case, (small, huge) in by_case.items()}
        out.between(f"walks: pages of the first TLB, {where}", more[FEW], -0.1 * first, 0.1 * first, "{:.2f} ns")
        if not tables:
            out.between(f"walks: tables in the second cache, {where}", more[NEAR], 0.85 * near, 1.15 * near, "{:.2f} ns")
        far = latency + link * tables
        out.between(f"walks: tables in memory, {where}", more[FAR], 0.85 * far, 1.15 * far, "{:.2f} ns")
    return out
