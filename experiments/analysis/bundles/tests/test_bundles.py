# SPDX-License-Identifier: GPL-2.0-only
"""Bundles are the same bytes for the same runs, and hold what judges them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from experiments.analysis.__main__ import main
from experiments.analysis.bundles import archive, bundle, sources
from experiments.analysis.tests import test_papers_across as across
from experiments.places import HERE
from experiments.runner import statements

RUNS = ("runs/e5620/", "runs/ls3a/")


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    across.luos(folder / "runs")
    (folder / "runs/e5620/lab.log").write_text("booted\n")
    assert main(["export", str(folder / "runs"), "--bundle", str(folder / "all.tar.gz")]) == 0
    return folder / "all.tar.gz"


def test_the_same_runs_make_the_same_bytes(packed: Path, tmp_path: Path) -> None:
    """At another time, in another place, with files of another age."""
    across.luos(tmp_path / "runs")
    (tmp_path / "runs/e5620/lab.log").write_text("booted\n")
    for path in (tmp_path / "runs").rglob("*.json*"):
        os.utime(path, (1, 1))
    (tmp_path / "runs/e5620/report.html").write_text("no record")
    bundle.write(tmp_path / "runs", tmp_path / "other.tar.gz")
    assert (tmp_path / "other.tar.gz").read_bytes() == packed.read_bytes()
    with tarfile.open(packed) as tar:
        found = tar.getmembers()
    assert {(m.mtime, m.uid, m.gid, m.uname, m.gname, m.mode) for m in found} == {(0, 0, 0, "", "", 0o644)}
    assert [m.name for m in found[1:]] == sorted(m.name for m in found[1:]) and found[0].name == "MANIFEST"


def test_a_bundle_has_what_judges_and_what_is_judged(packed: Path) -> None:
    about, files = archive.unpack(packed)
    for run in RUNS:
        assert {f"{run}results.jsonl", f"{run}manifest.json"} <= files.keys()
    assert "runs/e5620/lab.log" in files and not any(name.endswith(".html") for name in files if name.startswith("runs/"))
    assert files["code/experiments/reference/statements.json"] == statements.FILE.read_bytes()
    machines = {Path(name).stem for name in files if "/lab/machines/" in name}
    assert machines == {"xeon-e5620-2s", "ls3a-2s"} and "code/experiments/reference/luo-table1-ls3a.csv" in files
    assert not any("/tests/" in name for name in files)
    assert {"numpy", "scipy", "statsmodels"} <= about["packages"].keys() and about["tool"]["programs"]["numaplace"]
    judged = json.loads(files["verdicts.json"])
    assert {one["run"] for one in judged} == {"e5620", "ls3a", ""} and "holds" in {one["verdict"] for one in judged}


def test_the_code_of_a_bundle_judges_alone(packed: Path, tmp_path: Path) -> None:
    """With every module that it imports, and nothing of this tree but the programs."""
    for name, data in archive.unpack(packed)[1].items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    code = """if True:
        import importlib, pathlib, sys
        for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.py")):
            name = ".".join(path.relative_to(sys.argv[1]).with_suffix("").parts)
            found = importlib.import_module(name.removesuffix(".__init__"))
            assert found.__file__.startswith(sys.argv[1]), found.__file__
        from experiments.analysis.bundles import verdicts
        import json
        print(json.dumps(verdicts.of(sorted(pathlib.Path(sys.argv[2]).iterdir()))))"""
    path = f"{HERE.programs}:{os.environ['PATH']}"
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "code", tmp_path / "runs"], capture_output=True, text=True,
                          cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(tmp_path / "code"), "PATH": path})
    assert done.stderr == "" and json.loads(done.stdout) == json.loads((tmp_path / "verdicts.json").read_text())


def test_a_run_alone_is_a_bundle(packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(packed.parent / "runs/ls3a"), "--bundle", str(tmp_path / "one.tar.gz")]) == 0
    assert {one["run"] for one in json.loads(archive.unpack(tmp_path / "one.tar.gz")[1]["verdicts.json"])} == {"ls3a"}
    assert main(["export", str(tmp_path), "--bundle", str(tmp_path / "none.tar.gz")]) == 1
    assert main(["export", str(packed.parent / "runs/ls3a"), "--bundle", "/nonexistent/x.tar.gz"]) == 1
    assert "run the experiment first" in capsys.readouterr().err and not (tmp_path / "none.tar.gz").exists()


def test_the_code_is_found_by_its_imports() -> None:
    """In functions too, relative ones, and none of what judges nothing."""
    names = sources.files().keys()
    assert {"experiments/lab/machine.py", "experiments/runner/repeats/precision.py", "experiments/places.py",
            "experiments/runner/workloads/kinds.py", "experiments/analysis/templates/report.html"} <= names
    assert not {"experiments/lab/qemu.py", "experiments/runner/run.py", "experiments/model_fit/native.c"} & names
