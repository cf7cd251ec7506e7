# SPDX-License-Identifier: GPL-2.0-only
"""Bundles are the same bytes for the same runs, hold what judges them, and are judged again; a broken one is refused."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.analysis.__main__ import main
from experiments.analysis.bundles import archive, bundle, sources, verdicts
from experiments.analysis.papers import luo, luo_checks
from experiments.analysis.tests import test_papers_across as across
from experiments.analysis.tests.test_papers_frozen import mutated
from experiments.commands.experiment import cli
from experiments.paths import HERE
from experiments.runner.records import statements

RUNS = ("runs/e5620/", "runs/ls3a/")


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    across.luos(folder / "runs")
    (folder / "runs/e5620/lab.log").write_text("booted\n")
    assert main(["pack", str(folder / "runs"), str(folder / "all.tar.gz")]) == 0
    return folder / "all.tar.gz"


def repacked(packed: Path, path: Path, changed: dict[str, bytes]) -> Path:
    """A whole bundle with other files; b"" leaves one out."""
    bundle = archive.unpack(packed)
    archive.pack(path, bundle.about, {name: data for name, data in (bundle.files | changed).items() if data})
    return path


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
    about, files = archive.unpack(packed).about, archive.unpack(packed).files
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
    for name, data in archive.unpack(packed).files.items():
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


def test_judged_again_nothing_changes(packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["judge-again", str(packed), "--out", str(tmp_path / "kept")]) == 0
    count = len(json.loads((tmp_path / "kept/verdicts.json").read_text()))
    assert capsys.readouterr().out.splitlines() == [
        "statements: as in this tree", "code: as in this tree", "machine files: as in this tree",
        f"verdicts: {count} judged again, 0 changed"]
    assert (tmp_path / "kept/runs/e5620/lab.log").read_text() == "booted\n"
    assert main(["judge-again", str(packed), "--out", str(tmp_path / "kept")]) == 2
    assert "there already" in capsys.readouterr().err


def test_a_run_alone_is_a_bundle(packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pack", str(packed.parent / "runs/ls3a"), str(tmp_path / "one.tar.gz")]) == 0
    assert main(["judge-again", str(tmp_path / "one.tar.gz")]) == 0
    assert {one["run"] for one in json.loads(archive.unpack(tmp_path / "one.tar.gz").files["verdicts.json"])} == {"ls3a"}
    assert main(["pack", str(tmp_path), str(tmp_path / "none.tar.gz")]) == 1
    assert main(["pack", str(packed.parent / "runs/ls3a"), "/nonexistent/x.tar.gz"]) == 1
    assert "run the experiment first" in capsys.readouterr().err and not (tmp_path / "none.tar.gz").exists()


def test_a_verdict_that_changes_has_a_line(packed: Path, monkeypatch: pytest.MonkeyPatch,
                                           capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(luo, "luo_checks", mutated(luo_checks, "0.65, 0.85", "0.65, 0.66"))
    assert main(["judge-again", str(packed)]) == 1
    *_, told, own, other = capsys.readouterr().out.splitlines()
    assert told.endswith(" judged again, 2 changed")
    for run, line in (("e5620", own), ("ls3a", other)):
        assert line.startswith(f"{run}, luo-contention, E5620, section 3.1, Fig. 5: the most of remote")
        assert line.endswith(": fails, was holds")


def test_a_verdict_that_is_new_or_gone_has_a_line() -> None:
    one = dict.fromkeys(verdicts.KEY, "x") | {"verdict": "holds"}
    assert verdicts.changes([one, one], [one]) == ["x, x, x, x: x: not judged, was holds"]
    assert verdicts.changes([], [one]) == ["x, x, x, x: x: holds, was not judged"]
    assert verdicts.changes([one, one | {"verdict": "fails"}], [one, one]) == ["x, x, x, x: x: holds, was fails"]


def test_files_that_differ_from_this_tree_are_named(packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = "code/experiments/"
    path = repacked(packed, tmp_path / "x.tar.gz", {
        f"{code}reference/statements.json": b"{}", f"{code}analysis/stats/intervals.py": b"LEVEL = 0.5\n", f"{code}analysis/old.py": b"#\n",
        f"{code}units.py": b"", f"{code}lab/machines/ls3a-2s.toml": b"#\n"})
    assert main(["judge-again", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[:3] == [
        "statements: differ from this tree: experiments/reference/statements.json",
        "code: differ from this tree: experiments/analysis/old.py, experiments/analysis/stats/intervals.py, experiments/units.py",
        "machine files: differ from this tree: experiments/lab/machines/ls3a-2s.toml"]


def refused(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Status 2, one line, and nothing written."""
    assert main(["judge-again", str(path), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1 and said.err.startswith(f"numaplace experiment judge-again: {path}: ")
    assert not (tmp_path / "out").exists()
    return said.err


@pytest.mark.parametrize("part", [0.0, 0.1, 0.5, 0.99, -1, -8])
def test_a_bundle_that_is_cut_off_is_refused(packed: Path, part: float, tmp_path: Path,
                                             capsys: pytest.CaptureFixture[str]) -> None:
    whole = packed.read_bytes()
    path = tmp_path / "x.tar.gz"
    path.write_bytes(whole[:int(part) if part < 0 else int(part * len(whole))])
    assert "cut off" in refused(path, tmp_path, capsys)


@pytest.mark.parametrize("place", [0, 20, 5000, -6])
def test_a_bundle_with_another_byte_is_refused(packed: Path, place: int, tmp_path: Path,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    whole = bytearray(packed.read_bytes())
    whole[place] ^= 0x10
    path = tmp_path / "x.tar.gz"
    path.write_bytes(whole)
    refused(path, tmp_path, capsys)


def made(path: Path, change: Callable[[list[tuple[tarfile.TarInfo, bytes]]], None], packed: Path) -> Path:
    """The archive with other members, without new hashes."""
    with tarfile.open(packed) as tar:
        members = [(member, tar.extractfile(member).read()) for member in tar]
    change(members)
    with tarfile.open(path, "w:gz") as tar:
        for member, data in members:
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return path


@pytest.mark.parametrize("name", ["runs/e5620/results.jsonl", "code/experiments/analysis/stats/intervals.py", "verdicts.json"])
def test_an_edited_file_is_named(packed: Path, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def edit(members: list) -> None:
        at = next(i for i, (member, _) in enumerate(members) if member.name == name)
        members[at] = (members[at][0], members[at][1].replace(b"e", b"f", 1))

    path = made(tmp_path / "x.tar.gz", edit, packed)
    assert f"{name}: not as it was packed" in refused(path, tmp_path, capsys)


def test_a_file_too_many_or_missing_is_named(packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = made(tmp_path / "more.tar.gz", lambda members: members.append((tarfile.TarInfo("runs/x"), b"x")), packed)
    assert "runs/x: not in MANIFEST" in refused(path, tmp_path, capsys)
    path = made(tmp_path / "less.tar.gz", lambda members: members.pop(), packed)
    assert "verdicts.json: missing" in refused(path, tmp_path, capsys)
    path = made(tmp_path / "twice.tar.gz", lambda members: members.append(members[-1]), packed)
    assert "'verdicts.json': no plain file" in refused(path, tmp_path, capsys)


@pytest.mark.parametrize("name", ["../outside", "/outside", "runs/../../outside", "runs//outside", "./outside", "runs/a\nb"])
def test_a_name_that_leads_out_is_refused(packed: Path, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With a hash in MANIFEST: who writes the bundle writes that too."""
    path = repacked(packed, tmp_path / "x.tar.gz", {name: b"outside"})
    assert "no plain file below the bundle's own folder" in refused(path, tmp_path, capsys)
    assert not list(tmp_path.rglob("outside"))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_what_is_no_file_is_refused(packed: Path, kind: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    link = tarfile.TarInfo("runs/link")
    link.type, link.linkname = kind, "/etc/passwd"
    path = made(tmp_path / "x.tar.gz", lambda members: members.insert(1, (link, b"")), packed)
    assert "'runs/link': no plain file" in refused(path, tmp_path, capsys)


@pytest.mark.parametrize(("name", "data", "said"), [
    ("verdicts.json", b"{}x", "no list of verdicts"), ("verdicts.json", b"[1]", "no list of verdicts"),
    ("verdicts.json", b'[{"run": "x"}]', "no list of verdicts")])
def test_what_a_bundle_must_have_is_asked_for(packed: Path, name: str, data: bytes, said: str, tmp_path: Path,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    assert said in refused(repacked(packed, tmp_path / "x.tar.gz", {name: data}), tmp_path, capsys)


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b'{"files": {}, "format": 2}', b"\xff"])
def test_another_manifest_is_refused(packed: Path, text: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def replace(members: list) -> None:
        members[0] = (members[0][0], text)

    said = refused(made(tmp_path / "x.tar.gz", replace, packed), tmp_path, capsys)
    assert "MANIFEST" in said or "of format 2" in said


def test_no_file_and_no_archive_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "No such file" in refused(tmp_path / "none.tar.gz", tmp_path, capsys)
    (tmp_path / "text").write_text("no archive")
    assert "no bundle" in refused(tmp_path / "text", tmp_path, capsys)


def test_the_code_is_found_by_its_imports() -> None:
    """In functions too, relative ones, and none of what judges nothing."""
    names = sources.files().keys()
    assert {"experiments/lab/machine.py", "experiments/runner/repeats/precision.py", "experiments/paths.py",
            "experiments/runner/kinds/footprint.py", "experiments/analysis/pages/templates/report.html"} <= names
    assert not {"experiments/lab/qemu.py", "experiments/runner/run.py", "experiments/runner/workloads/kinds.py",
                "experiments/model_fit/native.c"} & names
