# SPDX-License-Identifier: GPL-2.0-only
"""The contention model against the papers, and the machine files' part that describes it."""

from pathlib import Path

import numpy as np
import pytest

from experiments.lab import machine
from experiments.lab.tests.test_machine import find_fault, find_line
from experiments.model_fit import bergstrom, family, fit, held_out, luo
from experiments.model_fit.native import READ, TRIAD, Model

E5620, CXL = "xeon-e5620-2s", "cxl-3n"


def load_model(name: str) -> Model:
    return Model(machine.find(name).model_text)


@pytest.mark.parametrize(("table", "worst"), [(luo.E5620, 0.12), (luo.LS3A, 0.06)])
def test_table_1_is_met_within_its_bound(table, worst):
    error = luo.compute_errors(table, load_model(table.machine))
    assert error.mean <= table.bound  # with the outliers
    assert error.worst_fitted <= worst


def test_remote_threads_alone_reach_less_than_local_ones():
    for table, low, high in ((luo.E5620, 0.68, 0.80), (luo.LS3A, 0.75, 0.87)):
        assert low <= luo.predict_relative(load_model(table.machine))[0, luo.CORES] <= high


def test_e5620_gives_each_side_about_half_of_its_controller():
    share = luo.predict_local_share(load_model("xeon-e5620-2s"))
    assert share.min() > 0.4 and share.max() < 0.63
    # Between 50 and 60 % as the text says, where neither side is short of threads.
    assert share[1:, 1:].min() > 0.5 and share[1:, 1:].max() < 0.6


def test_ls3a_serves_in_the_order_of_requests():
    share = luo.predict_local_share(load_model("ls3a-2s"))
    assert (np.diff(share, axis=0) > 0).all() and (np.diff(share, axis=1) < 0).all()
    assert share[0, 3] < 0.4 and share[3, 0] > 0.75


def test_cross_costs_thirty_percent_at_once_on_the_e5620():
    change = luo.predict_cross(load_model("xeon-e5620-2s"))
    assert (-0.05 < change[0]).all() and (change[0] < 0).all()
    assert (-0.33 < change[1:]).all() and (change[1:] < -0.26).all()
    assert np.ptp(change[1:], axis=1).max() < 0.03  # flat after the first opposite thread


@pytest.mark.parametrize(("traffic", "loss"), [(TRIAD, -0.3), (READ, -0.1)])
def test_the_e5620s_cross_needs_no_calibrated_number(traffic, loss):
    """0.875 / 1.25 of a triad and 0.9 of reads, wherever the calibrated numbers are and the threads fill the link."""
    described = machine.find("xeon-e5620-2s")
    assert luo.compute_packet_cross(64, 8, traffic) == pytest.approx(loss)
    for section, field, low, high in (("port", "bandwidth_mb_s", 14000, 20000), ("dram", "bandwidth_mb_s", 18000, 25600),
                                      ("link", "bandwidth_mb_s", 6000, 11720), ("dram", "local_overflow_loss", 0, 3)):
        for value in (low, high):
            model = Model(described.model_text, {(section, field): value})
            assert luo.predict_cross(model, traffic)[3, 3] == pytest.approx(loss, abs=0.012), (section, field, value)


def test_the_e5620s_cross_is_no_part_of_its_fit(monkeypatch):
    before = fit.fit_machine("xeon-e5620-2s")[0]
    monkeypatch.setattr(luo, "predict_cross", lambda model, traffic=TRIAD: np.zeros((4, 4)))
    assert fit.fit_machine("xeon-e5620-2s")[0] == before


def test_half_of_the_ls3as_table_predicts_the_other_half():
    found = held_out.predict_cells("ls3a-2s", held_out.PARTS["ls3a-2s"][1])
    assert (found.fitted, len(found.cells)) == (12, 10)
    assert found.mean <= 0.04 and found.worst <= 0.06


def test_what_is_held_out_moves_no_fit(monkeypatch):
    """Other values in the cells held out leave the fitted model as it is."""
    _, held = held_out.PARTS["xeon-e5620-2s"]
    before = held_out.predict_cells("xeon-e5620-2s", held)
    cells = luo.E5620.read_cells()
    for cell in held:
        cells[cell] = 9
    monkeypatch.setattr(luo.Table, "read_cells", lambda _: cells)
    after = held_out.predict_cells("xeon-e5620-2s", held)
    assert [c[1] for c in after.cells.values()] == [c[1] for c in before.cells.values()]
    assert after.mean > 7 and len(before.cells) == 16 and before.fitted == 8


def test_a_machine_may_be_what_its_fits_without_a_row_say_and_have_other_assumed_numbers():
    described = machine.find("xeon-e5620-2s")
    found = {v.name: v.model for v in family.list_variants(described)}
    rows = [held_out.predict_cells("xeon-e5620-2s", {(x, y) for y in luo.THREADS}) for x in luo.THREADS]
    for x, row in enumerate(rows):
        assert np.array_equal(luo.predict_relative(found[f"fitted without row {x}L"]), luo.predict_relative(row.model))
    assumed = {".".join(name) for name in family.list_assumed(described)}
    assert assumed == {"port.variability", "dram.variability", "dram.local_overflow_share", "link.variability"}
    assert len(found) == 1 + 5 + 1 + 2 * len(assumed)
    assert found["dram.variability × 1.2"].solve_flows([(0, 0, 2)], TRIAD) != found["as in its file"].solve_flows([(0, 0, 2)], TRIAD)


def test_a_line_of_assumed_bytes_is_not_a_fifth_longer(tmp_path: Path):
    file = tmp_path / "assumed.toml"
    text = (Path(machine.__file__).parent / "machines/xeon-e5620-2s.toml").read_text()
    file.write_text(text.replace('source = "data sheet: Intel 64 cache line"', 'source = "assumed: the kernel reports none"'))
    assert ("line", "bytes") not in family.list_assumed(machine.find(str(file)))


def test_a_number_of_a_single_node_changes_by_its_own_factor():
    """The memory-only node of cxl-3n has a latency of its own: 110 ns in place of 95."""
    described = machine.find("cxl-3n")
    model = Model(described.model_text).scale_number("dram", "latency_ns", 1.2)
    before = Model(described.model_text)
    for node, latency in ((0, 95), (2, 110)):
        assert model.compute_unloaded_ns(0, node) - before.compute_unloaded_ns(0, node) == pytest.approx(0.2 * latency)


def test_cross_costs_ten_percent_at_most_on_the_ls3a():
    change = luo.predict_cross(load_model("ls3a-2s"))
    assert (change < 0).all() and change.min() > -0.105


def test_split_costs_the_local_threads_on_the_e5620_only():
    change = luo.predict_split(load_model("xeon-e5620-2s"))
    assert (np.diff(change, axis=1) < 0).all() and change[1:, 3].max() < -0.4
    assert np.abs(luo.predict_split(load_model("ls3a-2s"))).max() < 0.01


@pytest.mark.parametrize("of", [bergstrom.OPTERON, bergstrom.XEON])
def test_copy_peaks_where_bergstrom_says(of):
    points = bergstrom.predict_curve(of, load_model(of.name))
    assert points[-1].aware_gb_s == pytest.approx(of.peak_gb_s, rel=0.05)
    aware = [point.aware_gb_s for point in points]
    assert all(a < b for a, b in zip(aware, aware[1:]))
    eight = bergstrom.predict_copy(of, load_model(of.name), 8)
    assert eight.aware_gb_s == pytest.approx(8 * points[0].aware_gb_s, rel=0.05)  # almost linear


def test_without_numa_awareness_the_opteron_pays_and_loses_at_48_threads():
    points = {p.threads: p for p in bergstrom.predict_curve(bergstrom.OPTERON, load_model("opteron-6172-4s"))}
    assert points[48].unaware_gb_s < 0.8 * points[48].aware_gb_s
    assert points[48].unaware_gb_s < points[40].unaware_gb_s
    assert points[48].unaware_ns > 2 * points[16].unaware_ns


def test_without_numa_awareness_the_xeon_hardly_pays():
    points = {p.threads: p for p in bergstrom.predict_curve(bergstrom.XEON, load_model("xeon-x7560-4s"))}
    assert all(p.unaware_gb_s > 0.95 * p.aware_gb_s for p in points.values())
    assert points[24].aware_ns < 1.3 * points[1].aware_ns < points[32].aware_ns


@pytest.mark.parametrize("name", fit.FITS)
def test_the_files_hold_what_the_fit_finds(name):
    values, _ = fit.fit_machine(name)
    described = machine.find(name)
    for one in fit.FITS[name].free:
        section = described.model[one.section]
        entry = (section[0] if isinstance(section, list) else section)[one.field]
        assert entry["source"].startswith("calibrated: ")
        assert entry["value"] == pytest.approx(values[one.name], rel=0.02), one.name


def test_every_file_makes_a_model_with_its_latencies():
    for described in machine.list_machines():
        if not described.model:
            continue
        model = Model(described.model_text)
        for a in range(len(described.distances)):
            for b, node in enumerate(described.nodes):
                ns = model.compute_unloaded_ns(a, b)
                assert (ns > 0) == bool(node.memory), described.name
                assert a == b or not node.memory or ns >= model.compute_unloaded_ns(b, b), described.name


def test_a_node_of_memory_alone_is_slower_but_serves():
    model = load_model("cxl-3n")
    assert model.compute_unloaded_ns(0, 2) == 220
    with pytest.raises(ValueError, match="the model refuses"):
        load_model("memoryless-3n").compute_bandwidths([(0, 1, 1)], fit.luo.TRIAD)


@pytest.mark.parametrize(("name", "old", "new", "line", "why"), [
    (E5620, "latency_ns = { value = 78,", "latency_ns = { value = -1,", "latency_ns = { value = -1", "-1 is not a number"),
    (E5620, "[model.port]\n", "[model.port]\nspeed = 3\n", "speed", "unknown field; known are bandwidth_mb_s"),
    (E5620, 'source = "assumed: a random queue"', 'source = "guessed"', "variability = { value = 1,",
     "the source must begin with one of 'paper: '"),
    (E5620, "remote_weight = {", "# {", "[model.port]", "the field 'remote_weight' is missing"),
    (E5620, "[model.line]", "[model.lines]", "[model.lines]", "unknown table; known are line"),
    (E5620, "between = [[0, 1]]", "between = [[0, 2]]", "between", "there is no node 2"),
    (E5620, "between = [[0, 1]]", "between = [[1, 1]]", "between", "[1, 1] is not a pair of nodes"),
    (E5620, "between = [[0, 1]]", "between = [[0, 1], [1, 0]]", "between", "nodes 1 and 0 stand there twice"),
    (E5620, "between = [[0, 1]]", "", "[[model.link]]", "the field 'between' is missing"),
    (E5620, "header_bytes = {", "# {", "[[model.link]]", "the field 'header_bytes' is missing"),
    (CXL, "node = 2\n", "node = 3\n", "node = 3", "there is no node 3"),
    (CXL, "[model.node.dram]", "[model.node.drum]", "[model.node.drum]", "unknown table; known are node, core, port, dram"),
])
def test_a_fault_in_the_model_is_reported_with_its_line(tmp_path, name, old, new, line, why):
    text = (machine.MACHINES / f"{name}.toml").read_text(encoding="utf-8")
    assert old in text
    text = text.replace(old, new)
    message = find_fault(tmp_path, text)
    assert why in message
    assert message.startswith(f"{find_line(text, line)}: model")
