# SPDX-License-Identifier: GPL-2.0-only
"""Exports, read back by the programs that they are for."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import fastparquet
import pandas as pd
import pyperf
import pytest

from experiments.analysis.__main__ import main
from experiments.analysis.tests import synthetic


@pytest.fixture
def run(tmp_path: Path) -> Path:
    marked = synthetic.timed()[-1] | {"repeat": 4, "marks": ["not restored"]}
    return synthetic.write(tmp_path / "run", [*synthetic.timed(), marked], synthetic.TIMED)


def check_table(found: pd.DataFrame) -> None:
    """Worked out by hand: 4 workloads, 3 policies, 3 repeats, a warm-up each, and the marked one."""
    bandwidth = found[found.metric == "bandwidth"]
    assert len(bandwidth) == 3 * (1 + 3 * 3) and set(bandwidth.unit) == {"MB/s"}
    assert found[found.marks == "not restored"].clean.tolist() == [False] * len(found[found.marks == "not restored"])
    assert bandwidth[bandwidth.warmup].value.tolist() == [400.0, 475.0, 350.0]
    assert set(found[found.metric == "cost_moved_bytes"].value) == {64 << 20}


def test_csv(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(run), "--csv", str(tmp_path / "x.csv")]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'x.csv'}\n"
    check_table(pd.read_csv(tmp_path / "x.csv", keep_default_na=False))


def test_parquet(run: Path, tmp_path: Path) -> None:
    assert main(["export", str(run), "--parquet", str(tmp_path / "x.parquet")]) == 0
    check_table(fastparquet.ParquetFile(str(tmp_path / "x.parquet")).to_pandas())


def test_factors_are_columns(tmp_path: Path) -> None:
    lines = [synthetic.observation("cross", "none", i, factors={"threads": i}) for i in (1, 2)]
    run = synthetic.write(tmp_path / "run", lines)
    assert main(["export", str(run), "--csv", str(tmp_path / "x.csv")]) == 0
    assert set(pd.read_csv(tmp_path / "x.csv").factor_threads) == {1, 2}


def test_pyperf_reads_and_compares(run: Path, tmp_path: Path) -> None:
    """A rate is exported as its inverse: pyperf takes less for better. What is marked is left out."""
    assert main(["export", str(run), "--pyperf", str(tmp_path / "x.json")]) == 0
    suite = pyperf.BenchmarkSuite.load(str(tmp_path / "x.json"))
    assert len(suite) == len(synthetic.WORKLOADS) * len(synthetic.POLICIES)
    found = suite.get_benchmark("cross/n-mass/bandwidth (seconds for one MB)")
    wanted = [1 / line["metrics"][0]["value"] for line in synthetic.timed()
              if (line["workload"], line["policy"]) == ("cross", "n-mass")]
    assert found.get_values() == pytest.approx(wanted)
    last = suite.get_benchmark("redis-lists/n-mass/throughput (seconds for one requests)")
    assert len(last.get_values()) == 3


@pytest.mark.long("draws every figure")
def test_figures_as_png_and_pdf(run: Path) -> None:
    """As large as the drawing, in twice its pixels; a PDF of one page."""
    assert main(["export", str(run), "--figures", "png"]) == 0
    assert main(["export", str(run), "--figures", "pdf"]) == 0
    for name in synthetic.WORKLOADS:
        drawing = (run / "figures" / f"{name}.svg").read_text()
        width = float(drawing.split('width="')[1].split('"')[0])
        image = (run / "figures" / f"{name}.png").read_bytes()
        assert image.startswith(b"\x89PNG") and struct.unpack(">I", image[16:20])[0] == 2 * round(width + 0.5)
        printed = (run / "figures" / f"{name}.pdf").read_bytes()
        assert printed.startswith(b"%PDF") and printed.count(b"/Type /Page\n") == 1
    assert not list((run / "figures").glob("*.partial*"))


@pytest.mark.parametrize(("words", "said"), [
    (["--parquet", "x.parquet"], "x.parquet: the Python package fastparquet is not installed: 'pip install fastparquet', "
                                 "or take --csv"),
    (["--figures", "png"], "figures: chromium is not installed; 'apt-get install chromium', or open"),
])
def test_what_is_missing_is_named_in_one_line(run: Path, words: list[str], said: str, monkeypatch: pytest.MonkeyPatch,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "fastparquet", None)
    monkeypatch.setenv("PATH", "/nonexistent")
    assert main(["export", str(run), *words]) == 1
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_a_folder_that_is_not_there(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(run), "--csv", "/nonexistent/x.csv"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("numaplace experiment export: /nonexistent/x.csv: ") and error.count("\n") == 1
    assert main(["export", str(run)]) == 2
