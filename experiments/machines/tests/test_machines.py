# SPDX-License-Identifier: GPL-2.0-only
"""Files of machines, the model's predictions beside their figures, and the page of all."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from experiments.analysis.tests.browser import Browser, start_chromium
from experiments.errors import ExperimentError
from experiments.machines import __main__ as command
from experiments.machines import compare, page, record, runs
from experiments.machines.compare import NOTHING, OTHERS, THESE
from experiments.machines.tests import made_runs
from experiments.model_fit.native import COPY, TRIAD, Model

FILES = sorted(command.RECORDS.glob("*.json"))


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> record.Record:
    """Of two nodes."""
    folder = tmp_path_factory.mktemp("machine") / "runs"
    return runs.collect_record(made_runs.write_runs(folder), folder / made_runs.MACHINE)


@pytest.fixture(scope="module")
def box(packed: record.Record, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("files") / "box.json"
    file.write_text(record.format_record(packed))
    return file


@pytest.fixture(scope="module")
def written(box: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return page.write_page([*FILES, box], tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with start_chromium(tmp_path_factory.mktemp("profile")) as running:
        yield running


def test_the_derived_model_knows_distances_alone() -> None:
    model = compare.derive_model([{"cpus": 4, "memory_mib": 1024}, {"cpus": 4, "memory_mib": 1024}], [[10, 21], [21, 10]])
    assert model.compute_unloaded_ns(0, 1) == pytest.approx(2.1 * model.compute_unloaded_ns(0, 0))
    with pytest.raises(ValueError, match="at most"):
        compare.derive_model([{"cpus": 1, "memory_mib": 1}] * 300, [[10] * 300] * 300)


def test_of_a_measured_machine_each_figure_is_predicted(packed: record.Record) -> None:
    found = {(c.fitted, c.what.partition(",")[0]): c for c in compare.compare_record("box", packed)}
    calibrated = Model("\n".join(packed["model"]) + "\n")
    latency = found[THESE, "latency from node to node"]
    assert latency.measured == [[90, 140], [140, 90]] and latency.predicted == [[80, 130], [130, 80]]
    assert latency.errors[0] == pytest.approx(80 / 90 - 1) and latency.worst == pytest.approx(80 / 90 - 1)
    assert found[NOTHING, "latency from node to node"].predicted[0] == [pytest.approx(90), pytest.approx(189)]
    bandwidth = found[THESE, "bandwidth from node to node"]
    assert bandwidth.predicted[0][1] == pytest.approx(calibrated.compute_bandwidths([(0, 1, 4)], TRIAD)[0] / 1e6)
    both = found[THESE, "bandwidth of one memory"]
    assert both.measured[1][1] == 7300
    assert both.predicted[1][1] == pytest.approx(sum(calibrated.compute_bandwidths([(0, 0, 1), (1, 0, 1)], TRIAD)) / 1e6)
    curve = found[OTHERS, "bandwidth of all nodes' local memory"]
    assert curve.rows == ["1", "8"] and curve.measured == [[3000], [24000]]
    assert curve.predicted[1][0] == pytest.approx(sum(calibrated.compute_bandwidths([(0, 0, 4), (1, 1, 4)], COPY)) / 1e6)


def test_the_page_begins_with_machines_that_nothing_was_fitted_to(written: Path) -> None:
    text = written.read_text()
    heads = [text.index(f"Fitted to {fitted}</h3>") for fitted in (NOTHING, OTHERS, THESE)]
    assert heads == sorted(heads) and heads[-1] < text.index('id="machine-0"')
    assert {file.stem for file in FILES} | {"box"} == set(re.findall(r"<h2>([a-z0-9-]+)</h2>", text))
    assert "the module is not loaded" in text and "Latency under load" in text
    assert not re.search(r'(?:src|href)="(?!#|data:)', text), "no network"


def test_a_measured_record_goes_round(packed: record.Record, box: Path) -> None:
    assert record.read_record(box) == packed
    entry, = page.make_entries([box])
    assert entry.comparisons == compare.compare_record("box", packed)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_recorded_machine_is_compared(file: Path, tmp_path: Path) -> None:
    found = record.read_record(file)
    assert record.format_record(found) == file.read_text()
    assert any(c.fitted == NOTHING and c.mean for c in compare.compare_record(file.stem, found))
    text = page.write_page([file], tmp_path).read_text()
    assert f"<h2>{file.stem}</h2>" in text and all(why in text for why in found["missing"].values())


@pytest.mark.parametrize(("virtual", "load", "doubts"), [(True, 5.67, "virtual machine, load 5.67"), (False, 0.6, "load 0.6"), (False, 0.5, "")])
def test_what_makes_figures_doubtful_stands_beside_their_errors(packed: record.Record, tmp_path: Path, virtual: bool, load: float,
                                                                doubts: str) -> None:
    found = broken(broken(packed, "machine", "virtual", value=virtual), "machine", "load_most", value=load)
    (tmp_path / "box.json").write_text(record.format_record(found))
    text = page.write_page([tmp_path / "box.json"], tmp_path / "out").read_text()
    errors = text[text.index('id="errors"'):text.index('id="machine-0"')]
    assert set(re.findall(r"box</a><br><small>([^<]*)", errors)) == ({doubts} if doubts else set())


def broken(packed: record.Record, *path: Any, value: Any) -> record.Record:
    copy = json.loads(json.dumps(packed))
    inside = copy
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    return copy


@pytest.mark.parametrize(("path", "value", "says"), [
    (("format",), 2, "is not of format 1"),
    (("machine",), None, "has no machine"), (("machine", "nodes"), [], "machine.nodes is no list of nodes"),
    (("machine", "distances"), [[10]], "machine.distances has not a row"),
    (("measured", "latency", "to"), [0, 7], "measured.latency is no matrix"),
    (("measured", "latency", "mean"), [["x", 1], [1, 1]], "measured.latency is no matrix"),
    (("measured", "contention", 0, "node"), 9, "is not to be compared"),
    (("measured", "core_to_core"), "x", "is not to be compared"),
    (("measured", "latency", "mean"), [[float("nan"), 1], [1, 1]], "NaN is no number"),
    (("machine", "distances"), [10, 10], "is not of the form"), (("measured", "latency"), [1], "is not of the form"),
    (("measured", "latency", "mean"), [1, 1], "is not of the form"), (("measured", "latency", "from"), [[0], [1]], "is not of the form"),
    (("model",), ["machine name=x; rm"], "is not to be compared")])
def test_a_file_that_is_not_whole_is_one_line(packed: record.Record, tmp_path: Path, path: tuple, value: Any, says: str,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "box.json"
    file.write_text(json.dumps(broken(packed, *path, value=value)))
    assert command.main([str(file), "--out", str(tmp_path / "out")]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"machines: {file}: ") and says in error and error.count("\n") == 1
    assert not (tmp_path / "out" / "index.html").exists()


@pytest.mark.parametrize(("content", "says"), [("{", "not JSON"), (" " * record.MOST_BYTES + "{}", "is larger than 64 KiB"), ("[]", "format 1")])
def test_what_is_no_such_file_is_refused(tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(ExperimentError, match=says):
        record.read_record(tmp_path / "x.json")
    with pytest.raises(ExperimentError, match="cannot be read"):
        record.read_record(tmp_path / "none.json")


def test_words_of_a_file_are_not_markup(packed: record.Record, tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>"
    found = broken(packed, "machine", "cpu_model", value=hostile)
    found["missing"][hostile] = hostile
    (tmp_path / "box.json").write_text(record.format_record(found))
    text = page.write_page([tmp_path / "box.json"], tmp_path / "out").read_text()
    assert hostile not in text and "&lt;script&gt;" in text


def test_opens_without_problems(browser: Browser, written: Path) -> None:
    browser.check_narrow(written)
