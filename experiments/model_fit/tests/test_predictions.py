# SPDX-License-Identifier: GPL-2.0-only
"""Predictions of machines of today: what their files were made from is not predicted, and the files have what was published."""

import tomllib
from collections import Counter

import pytest

from experiments.lab import machine
from experiments.model_fit import predictions

PUBLISHED = tomllib.loads(predictions.PUBLISHED.read_text(encoding="utf-8"))


def compute_latency(load: float, idle_ns: float, node_mb_s: float, variability: float, load_ns: float) -> float:
    return idle_ns + load_ns * load + variability * predictions.LINE * 1e3 / node_mb_s * load / (1 - load)


@pytest.mark.parametrize("points", [[(0.3, 90), (0.9, 160)], [(0.7, 130)]])
def test_a_fit_passes_the_points_that_it_was_made_from(points):
    variability, load_ns = predictions.fit_loaded(80, 120000, points)
    assert [compute_latency(load, 80, 120000, variability, load_ns) for load, _ in points] == pytest.approx([ns for _, ns in points])


@pytest.mark.parametrize("name", [name for name, figures in PUBLISHED.items() if "fitted" in figures])
def test_a_machine_file_has_the_numbers_of_its_fit(name):
    figures = PUBLISHED[name]
    described, memory = machine.find(figures.get("machine", name)), figures.get("memory", 0)
    variability, load_ns = predictions.fit_published(described, figures)
    assert predictions.get_number(described, "variability", memory) == pytest.approx(variability, rel=0.01)
    assert predictions.get_number(described, "load_ns", memory) == pytest.approx(load_ns, rel=0.02)
    if "full_fitted" in figures:
        lines = predictions.fit_stream_lines(described, figures)
        assert described.model["core"]["stream_lines"]["value"] == pytest.approx(lines, rel=0.01)


@pytest.mark.parametrize("name", [name for name, figures in PUBLISHED.items() if "mix_fitted" in figures])
def test_a_machine_file_has_what_its_writes_take(name):
    figures = PUBLISHED[name]
    described = machine.find(figures.get("machine", name))
    lost = predictions.fit_write_loss(described, figures)
    assert predictions.get_number(described, "write_loss", figures.get("memory", 0)) == pytest.approx(lost, abs=0.01)


def test_what_a_file_was_made_from_is_no_prediction():
    made = Counter()
    for one in predictions.list_predictions():
        made[one.kind, one.machine] += 1
    for name, figures in PUBLISHED.items():
        predicted = made[predictions.LOADED, name] + made[predictions.FULL, name]
        fitted = len(figures.get("fitted", [])) + figures.get("full_fitted", False)
        assert predicted == len(figures.get("loaded", [])) - fitted
