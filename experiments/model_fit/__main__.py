# SPDX-License-Identifier: GPL-2.0-only
"""Prints the contention model beside the papers; --fit finds the calibrated numbers anew."""

import argparse

import numpy as np

from experiments.lab import machine
from experiments.model_fit import bergstrom, held_out, luo
from experiments.model_fit.native import READ, TRIAD, Model


def load_model(name: str) -> tuple[machine.Machine, Model]:
    """Finds a machine of the lab by its name, and makes its model; LabError where there is none."""
    described = machine.find(name)
    return described, Model(described.model_text)


def print_cells(table: luo.Table, model: Model, derived: Model):
    """Prints the paper's cells beside the model's, and those of the model derived from distances, relative to 4L0R, then the errors."""
    cells, ours, unfitted = table.read_cells(), luo.predict_relative(model), luo.predict_relative(derived)
    print("cell   paper  model  residual  derived")
    for x in luo.THREADS:
        for y in luo.THREADS:
            if (x, y) != (0, 0):
                note = "  outlier of the paper, not fitted" if (x, y) in table.outliers else ""
                print(f"{x}L{y}R  {cells[x, y]:6.3f} {ours[x, y]:6.3f}  "
                      f"{ours[x, y] - cells[x, y]:+7.3f}  {unfitted[x, y]:7.3f}{note}")
    error = luo.compute_errors(table, model)
    print(f"mean absolute error {error.mean:.3f} of 4L0R over 24 cells, worst {error.worst:.3f}; "
          f"bound of the mean {table.bound:.2f}")
    derived_error = luo.compute_errors(table, derived)
    print(f"derived from nodes and distances alone {derived_error.mean:.3f}, worst {derived_error.worst:.3f}")
    if table.outliers:
        print(f"without the outliers {error.mean_fitted:.3f} over {table.select_fitted().sum()} cells, "
              f"worst {error.worst_fitted:.3f}")


def print_rows(title: str, rows: np.ndarray):
    """Prints parts of 1 in percent, a line for each number of threads from 1 on."""
    print(title)
    for threads, row in enumerate(rows, 1):
        print(f"  {threads}  " + " ".join(f"{100 * part:+6.1f} %" for part in row))


def print_packets(described: machine.Machine):
    """Prints the change by opposite threads that the bytes of a line and of a packet's header alone give."""
    line, header = described.model["line"]["bytes"]["value"], described.model["link"][0]["header_bytes"]["value"]
    triad, read = (luo.compute_packet_cross(line, header, traffic) for traffic in (TRIAD, READ))
    print(f"cross where either side alone fills the link, by the packets' sizes and no calibrated number: "
          f"triad {100 * triad:+.1f} %, reads alone {100 * read:+.1f} %")


def print_held_out(table: luo.Table):
    """Prints what fits of parts of the table say of the rest."""
    what, cells = held_out.PARTS[table.machine]
    part = held_out.predict_cells(table.machine, cells)
    print(f"the {len(part.cells)} cells {what}, predicted from the {part.fitted} others: "
          f"mean absolute error {part.mean:.3f} of 4L0R, worst {part.worst:.3f}")
    for x, row in enumerate(held_out.predict_rows(table.machine)):
        print(f"row {x}L, predicted from the other rows: mean absolute error {row.mean:.3f} of 4L0R, worst {row.worst:.3f}")


def print_luo(table: luo.Table):
    """Prints what the model says of a table of Luo's paper and of the patterns of its text."""
    described, model = load_model(table.machine)
    values = described.calibrated
    print(f"== {table.machine}: Luo et al., {table.title}, relative to 4L0R")
    print(f"{len(values)} numbers calibrated: {', '.join(values)}")
    print_cells(table, model, Model.derive(described.distances, [len(node.cpus) for node in described.nodes],
                                           [float(node.memory >> 20) for node in described.nodes]))
    print_held_out(table)
    print_rows("local threads' part of the total, 1-4 local (rows), 1-4 remote (columns)",
               luo.predict_local_share(model))
    print_rows("cross: change of 1-4 threads (rows) by 1-4 opposite ones (columns)",
               luo.predict_cross(model))
    if table is luo.E5620:  # the LS 3A's threads do not fill its link
        print_packets(described)
    print_rows("split: change of 1-4 local threads (rows) by 1-4 beside them that use node 1",
               luo.predict_split(model))
    print()


def print_bergstrom(paper_machine: bergstrom.Machine):
    """Prints the model's COPY on a machine of Bergstrom's paper, by the number of threads."""
    described, model = load_model(paper_machine.name)
    values = described.calibrated
    print(f"== {paper_machine.name}: Bergstrom, COPY; the text says about {paper_machine.peak_gb_s} GB/s, NUMA-aware")
    print(f"{len(values)} numbers calibrated against the text: {', '.join(values)}")
    print("threads  aware GB/s  unaware GB/s     gap  aware ns  unaware ns")
    for point in bergstrom.predict_curve(paper_machine, model):
        gap = 100 * (point.unaware_gb_s / point.aware_gb_s - 1)
        print(f"{point.threads:7}  {point.aware_gb_s:10.1f}  {point.unaware_gb_s:12.1f}  {gap:+5.1f} %  "
              f"{point.aware_ns:8.0f}  {point.unaware_ns:10.0f}")
    print()


def print_fits():
    """Fits each machine's calibrated numbers anew, and prints them with the error."""
    from experiments.model_fit import fit

    for name, task in fit.FITS.items():
        values, model = fit.fit_machine(name)
        error = luo.compute_errors(task.table, model).mean_fitted
        print(f"== {name}: fitted anew, mean absolute error {error:.4f}")
        for field, value in values.items():
            print(f"{field} = {value:.6g}")


def main():
    """Prints the model beside both papers' machines, with --fit the fits too."""
    parser = argparse.ArgumentParser(prog="make model-table", description=__doc__)
    parser.add_argument("--fit", action="store_true", help="find the calibrated numbers anew, too")
    arguments = parser.parse_args()
    for table in (luo.E5620, luo.LS3A):
        print_luo(table)
    for paper_machine in (bergstrom.OPTERON, bergstrom.XEON):
        print_bergstrom(paper_machine)
    if arguments.fit:
        print_fits()


if __name__ == "__main__":
    main()
