# SPDX-License-Identifier: GPL-2.0-only
"""Results survive kills and full disks, and are not mixed with others."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.errors import ExperimentError, UsageError
from experiments.runner.records import manifest, results
from experiments.runner.run import Request, prepare_folder
from experiments.runner.suite import suite as suites

ROOT = Path(__file__).resolve().parents[3]


def record(number: int) -> dict:
    return {"workload": "cross", "policy": "none", "repeat": number, "order": number, "text": "x" * 200}


def test_a_line_that_a_kill_cut_off_is_written_over(tmp_path: Path) -> None:
    results.rewrite_records(tmp_path, [record(0), record(1)])
    path = tmp_path / results.NAME
    path.write_bytes(path.read_bytes()[:-50])
    assert results.read_records(tmp_path) == [record(0)]
    writer = results.Writer(tmp_path)
    writer.append(record(2))
    writer.close()
    assert results.read_records(tmp_path) == [record(0), record(2)]


WRITING = """
import sys
from pathlib import Path
from experiments.errors import ExperimentError
from experiments.runner.records import results
try:
    with results.lock_folder(Path(sys.argv[1])):
        print("writes", flush=True)
        sys.stdin.read()
except ExperimentError as error:
    sys.exit(str(error))
"""


def test_a_second_writer_is_refused_until_the_first_has_ended(tmp_path: Path) -> None:
    words = [sys.executable, "-c", WRITING, tmp_path / "new"]
    with subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        assert first.stdout.readline() == b"writes\n"
        results.rewrite_records(tmp_path / "new", [record(0)])  # replaces the file, which the lock is to survive
        second = subprocess.run(words, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        assert (second.returncode, second.stdout) == (1, "")
        comm = Path(f"/proc/{first.pid}/comm").read_text().strip()
        assert second.stderr == f"{tmp_path / 'new' / results.NAME}: is being written by pid {first.pid} ({comm}): wait for it or end it\n"
        first.kill()
    with results.lock_folder(tmp_path / "new"):
        pass


def test_how_far_a_run_is(tmp_path: Path) -> None:
    assert results.count_reached(tmp_path) == 0
    results.rewrite_records(tmp_path, [record(number) for number in (0, 1, 1)])
    assert results.count_reached(tmp_path) == 2


def test_a_line_that_is_not_json_is_named(tmp_path: Path) -> None:
    (tmp_path / results.NAME).write_text('{"a": 1}\nnot json\n')
    with pytest.raises(ExperimentError, match=r"line 2: not JSON"):
        results.read_records(tmp_path)


FULL = """
import resource, signal, sys
from pathlib import Path
from experiments.runner.records import results
from experiments.errors import ExperimentError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (700, 700))
writer = results.Writer(Path(sys.argv[1]))
for number in range(5):
    try:
        writer.append({"number": number, "text": "x" * 200})
    except ExperimentError as error:
        sys.exit(str(error))
"""


def test_no_room_leaves_whole_lines_and_says_how_to_go_on(tmp_path: Path) -> None:
    """A limit on the file's size makes write(2) fail in the middle of a line, as a full disk does."""
    done = subprocess.run([sys.executable, "-c", FULL, tmp_path], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and "--resume" in done.stderr
    assert [r["number"] for r in results.read_records(tmp_path)] == [0, 1, 2]
    assert (tmp_path / results.NAME).read_bytes().endswith(b"\n")


def test_results_are_neither_mixed_nor_thrown_away_unasked(tmp_path: Path) -> None:
    suite = suites.load_suite("policy-matrix")
    (tmp_path / results.NAME).write_text("{}\n")
    with pytest.raises(UsageError, match="--resume"):
        prepare_folder(Request(suite, tmp_path))
    prepare_folder(Request(suite, tmp_path, resume=True))
    assert (tmp_path / results.NAME).exists()
    prepare_folder(Request(suite, tmp_path, force=True))
    assert not (tmp_path / results.NAME).exists()


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ExperimentError, match="choose another folder"):
        with results.lock_folder(tmp_path / "file" / "out"):
            pass


def test_resume_refuses_the_results_of_another_run(tmp_path: Path) -> None:
    now = {key: key for key in manifest.SAME} | {"created": "now"}
    manifest.write_manifest(tmp_path, now)
    manifest.check_same(tmp_path, now | {"created": "later"})
    for key in manifest.SAME:
        with pytest.raises(UsageError, match="is of another run: its " + key.replace("_", " ")):
            manifest.check_same(tmp_path, now | {key: "other"})
    manifest.write_manifest(tmp_path, now | {"tool": {"commit": "a", "programs": {}}})
    with pytest.raises(UsageError, match=r"its tool \(commit\) differs"):
        manifest.check_same(tmp_path, now | {"tool": {"commit": "b", "programs": {}}})
    (tmp_path / manifest.NAME).unlink()
    with pytest.raises(UsageError, match="cannot be read"):
        manifest.check_same(tmp_path, now)


def test_the_manifest_is_json_with_the_machine_s_nodes(tmp_path: Path) -> None:
    from experiments.host.tool import Numaplace

    suite = suites.load_suite("policy-matrix")
    manifest.write_manifest(tmp_path, manifest.collect_manifest(suite, Numaplace(), "real", []))
    written = json.loads((tmp_path / manifest.NAME).read_text())
    assert written["suite_text"] == suite.text and written["seed"] == suite.seed
    assert written["nodes"] and all(n["total_kib"] >= n["free_kib"] for n in written["nodes"])
    for program in ("numaplace", "np-mem", "np-redis"):
        assert written["tool"]["programs"][program].startswith(program)
    assert "-O3" in written["tool"]["programs"]["np-mem"]
    said = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip() \
        if shutil.which("git") else ""
    assert written["tool"]["commit"] == (said or None)
    assert isinstance(written["tool"]["changed_since"], bool) == bool(said)


def test_without_git_the_commit_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    from experiments.host.tool import Numaplace

    numaplace = Numaplace()
    monkeypatch.setenv("PATH", "/nowhere")
    tool = manifest.collect_manifest(suites.load_suite("policy-matrix"), numaplace, "real", [])["tool"]
    assert tool["commit"] is None and tool["changed_since"] is None


def test_in_the_lab_the_commit_is_what_the_host_says(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"commit": "0123abcd", "changed_since": True}
    monkeypatch.setenv(manifest.SOURCES, json.dumps(said))
    assert manifest.read_sources() != said
    monkeypatch.setattr(manifest.host_nodes, "read_lab_name", lambda: "2x2")
    assert manifest.read_sources() == said
