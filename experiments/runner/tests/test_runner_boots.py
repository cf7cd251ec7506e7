# SPDX-License-Identifier: GPL-2.0-only
"""In which boot an observation was made and under which load, and repeats that are shared out over boots."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.analysis.pages import summary
from experiments.analysis.runs import results as analysis
from experiments.commands.experiment import cli
from experiments.errors import ExperimentError
from experiments.host import host_nodes, state, ticks
from experiments.runner import run_in_lab
from experiments.runner.boots import boot_shares, parallel_boots
from experiments.runner.boots.host_load import HostLoad
from experiments.runner.records import manifest, results
from experiments.runner.suite import schedule
from experiments.runner.suite import suite as suites
from experiments.runner.tests import schemas
from experiments.runner.tests.test_runner_observe_static import CACHETEST, SUITE

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SUITE.format(design="cachetest", repeats=4, factors=CACHETEST.replace("64, 128", "64")))
    return path


def run(suite: Path, *words: str) -> int:
    return cli.main(["run", str(suite), "--out", str(suite.parent / "out"), *words])


@pytest.mark.parametrize("more", [(), ("--lab", "demo-2s"), ("--lab", "demo-2s", "--repeats", "2", "--boots", "2", "--jobs", "2")])
def test_a_run_beside_a_writer_changes_nothing(more: tuple[str, ...], small: Path, monkeypatch: pytest.MonkeyPatch,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    """No machine is booted, and --force throws nothing away."""
    monkeypatch.chdir(small.parent)
    out = small.parent / "out"
    with results.lock_folder(out):
        (out / results.NAME).write_text("{}\n")
        assert run(small, "--force", *more) == 1
    error = capsys.readouterr().err
    assert f"{out / results.NAME}: is being written by pid {os.getpid()} (" in error and error.count("\n") == 1, error
    assert (out / results.NAME).read_text() == "{}\n"


def read_run(suite: Path) -> tuple[list[dict], dict]:
    return results.read_records(suite.parent / "out"), json.loads((suite.parent / "out" / manifest.NAME).read_text())


def test_a_record_has_its_boot_and_its_load(small: Path) -> None:
    assert run(small, "--repeats", "2") == 0
    records, told = read_run(small)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert [record["boot_id"] for record in records] == [boot] * 3
    assert all(0 <= record["load"] < 10000 for record in records)
    assert [entry["boot_id"] for entry in told["boots"]] == [boot] and told["boots"][0]["load"] >= 0


def test_each_boot_of_a_scaled_machine_has_its_share_of_ticks(small: Path, tmp_path: Path, monkeypatch, capsys) -> None:
    shares = iter((0.03125, 0.0286))
    monkeypatch.setattr(host_nodes, "read_lab_scale", lambda: 16)
    monkeypatch.setattr(ticks, "measure_tick_share", lambda: next(shares))
    assert run(small) == 0
    path = tmp_path / "out" / results.NAME
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:3]))
    monkeypatch.setattr(state, "BOOT", tmp_path / "boot_id")
    state.BOOT.write_text("another\n")
    assert run(small, "--resume") == 0
    told = read_run(small)[1]
    assert [boot["tick_share"] for boot in told["boots"]] == [0.0312, 0.0286]
    assert schemas.list_faults("manifest", told) == [] and not any("ticks" in doubt for doubt in told["doubts"])
    assert [line for line in capsys.readouterr().out.splitlines() if "ticks take" in line] == [
        f"small: the kernel's ticks take {share} of a CPU at 1/16 of the machine's speed" for share in ("3.1 %", "2.9 %")]
    assert "the kernel's ticks took 2.9 % to 3.1 % of a CPU, by boot" in summary.list_notes(analysis.read_results(tmp_path / "out"))


def test_a_run_that_goes_on_in_another_boot_says_so(small: Path, tmp_path: Path, monkeypatch) -> None:
    assert run(small) == 0
    path = tmp_path / "out" / results.NAME
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:3]))
    assert run(small, "--resume") == 0
    assert len(read_run(small)[1]["boots"]) == 1, "the same boot"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:3]))
    monkeypatch.setattr(state, "BOOT", tmp_path / "boot_id")
    state.BOOT.write_text("another\n")
    assert run(small, "--resume") == 0
    records, told = read_run(small)
    assert [entry["boot_id"] for entry in told["boots"]][1:] == ["another"]
    assert [record["boot_id"] for record in records[3:]] == ["another"] * (len(records) - 3)


GUEST = """
import sys, time
from pathlib import Path
from experiments.runner.records import results
writer = results.Writer(Path(sys.argv[1]))
for number in range(3):
    while not (Path(sys.argv[1]) / f"seen-{number + 1}").exists():  # the host has looked at what is there
        time.sleep(0.01)
    writer.append({"workload": "cross", "policy": "none", "repeat": number, "order": number, "boot_id": "b", "load": 0.1})
"""


def test_the_host_s_load_is_in_the_records_that_a_guest_made(tmp_path: Path, monkeypatch) -> None:
    """The guest is a process here; what it writes is what one writes. The load of this test goes from 1 to 3."""
    manifest.write_manifest(tmp_path, {"boots": [{"boot_id": "a"}, {"boot_id": "b", "load": 0.1}]})
    results.rewrite_records(tmp_path, [{"workload": "cross", "policy": "none", "repeat": 9, "order": 0, "boot_id": "a"}])

    def load() -> tuple[float, float, float]:
        count = results.count_records(tmp_path)
        (tmp_path / f"seen-{count}").touch()
        return float(count), 0.0, 0.0

    monkeypatch.setattr(os, "getloadavg", load)
    child, host = subprocess.Popen([sys.executable, "-c", GUEST, tmp_path], cwd=ROOT), HostLoad(tmp_path)
    try:
        run_in_lab._watch_boot(child, tmp_path, [], "demo-2s", host)
    finally:
        child.kill()
        child.wait()
    host.write()
    assert [record.get("host_load") for record in results.read_records(tmp_path)] == [None, 1, 2, 3]
    told = json.loads((tmp_path / manifest.NAME).read_text())
    assert told["boots"] == [{"boot_id": "a"}, {"boot_id": "b", "load": 0.1, "host_load": 1}]


def test_a_guest_that_made_nothing_changes_nothing(tmp_path: Path) -> None:
    HostLoad(tmp_path).write()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("repeats, boots, ends", [(10, 1, [10]), (10, 4, [2, 5, 7, 10]), (3, 3, [1, 2, 3])])
def test_repeats_are_shared_out(small: Path, repeats: int, boots: int, ends: list[int]) -> None:
    parts = boot_shares.divide_repeats(replace(suites.load_suite("arena"), repeats=repeats), boots)
    assert [part.end for part in parts] == ends and [part.begin for part in parts] == [0, *ends[:-1]]
    assert {len(part.workloads) for part in parts} == {8}


def test_more_boots_than_repeats_share_the_workloads_of_one() -> None:
    suite = replace(suites.load_suite("arena"), repeats=3)
    parts = boot_shares.divide_repeats(suite, 6)
    assert [(part.begin, part.end, len(part.workloads)) for part in parts] == [(k, k + 1, 4) for k in (0, 0, 1, 1, 2, 2)]
    made = [trial.key for trial in boot_shares.list_trials_in_turn(suite, 6)]
    assert sorted(made) == sorted(trial.key for trial in schedule.make_schedule(suite)), "all, and none twice"
    assert [boot_shares.divides_evenly(suite, boots) for boots in (0, 3, 4, 5, 9, 24, 27)] == [False, True, False, False, True, True, False]
    assert [boot_shares.choose_boots(suite, boots) for boots in (8, 6, 2, 27)] == [3, 6, 2, 3]


BOOTED = """
import sys
from pathlib import Path
from experiments.commands.experiment import cli
from experiments.runner.boots import boot_shares, parallel_boots
from experiments.host import state
state.BOOT = Path(sys.argv[1])
sys.exit(cli.main(sys.argv[2:]))
"""


@pytest.fixture
def boots(monkeypatch, tmp_path: Path) -> list[list[str]]:
    """What the host asks of the lab. Its command runs on this machine, where each start has a boot id of its own."""
    asked: list[list[str]] = []

    def start(command: list, _end, env: dict[str, str], **streams) -> subprocess.Popen[bytes]:
        asked.append([str(word) for word in command])
        (tmp_path / f"boot-{len(asked)}").write_text(f"boot {len(asked)}\n")
        words = asked[-1][asked[-1].index("--") + 2:]
        return subprocess.Popen([sys.executable, "-c", BOOTED, tmp_path / f"boot-{len(asked)}", *words],
                                env=env | {"PYTHONPATH": str(ROOT)}, **streams)

    monkeypatch.setattr(run_in_lab, "start_process", start)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return asked


def made(suite: Path) -> list[tuple[str, int, bool]]:
    return [(record["boot_id"], record["repeat"], bool(record.get("warmup"))) for record in read_run(suite)[0]]


def test_each_boot_makes_its_part_and_its_warm_ups(small: Path, boots: list[list[str]]) -> None:
    assert run(small, "--lab", "demo-2s", "--boots", "2") == 0
    assert made(small) == [("boot 1", 0, True), ("boot 1", 0, False), ("boot 1", 1, False),
                           ("boot 2", 0, True), ("boot 2", 2, False), ("boot 2", 3, False)]
    assert [entry["boot_id"] for entry in read_run(small)[1]["boots"]] == ["boot 1", "boot 2"]
    assert all("host_load" in record for record in read_run(small)[0])
    assert all("--no-snapshot" in command for command in boots)
    assert run(small, "--lab", "demo-2s", "--boots", "2", "--resume") == 0
    assert len(boots) == 3 and len(made(small)) == 6, "nothing is left: one boot, which says how the run ended"


def test_boots_that_were_made_are_not_made_again(small: Path, boots: list[list[str]]) -> None:
    assert run(small, "--lab", "demo-2s", "--boots", "2") == 0
    path = small.parent / "out" / results.NAME
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:3]))
    assert run(small, "--lab", "demo-2s", "--boots", "2", "--resume") == 0
    assert len(boots) == 3 and made(small)[3:] == [("boot 3", 0, True), ("boot 3", 2, False), ("boot 3", 3, False)]


def test_boots_side_by_side_make_one_run(small: Path, boots: list[list[str]]) -> None:
    assert run(small, "--lab", "demo-2s", "--boots", "3", "--jobs", "2") == 0
    records, told = read_run(small)
    assert sorted({(r["boot_id"], r["repeat"]) for r in records if not r.get("warmup")}, key=lambda both: both[1]) == [
        ("boot 1", 0), ("boot 2", 1), ("boot 3", 2), ("boot 3", 3)]
    assert [entry["boot_id"] for entry in told["boots"]] == ["boot 1", "boot 2", "boot 3"]
    assert all("host_load" in record for record in records) and not parallel_boots.list_folders(small.parent / "out")
    logs = {path.name: path.read_text() for path in (small.parent / "out").glob("*.log")}
    assert logs.keys() == {"lab.log", "lab-2.log", "lab-3.log"}
    assert "3/3" in logs["lab-3.log"] and not any("4/3" in log or "3/2" in log for log in logs.values()), "a boot counts its own"
    assert all("--no-snapshot" in command for command in boots)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_no_boot_begins_after_the_budget(small: Path, boots: list[list[str]], capsys, jobs: str) -> None:
    words = ("--lab", "demo-2s", "--boots", "4", "--jobs", jobs, "--budget", "0.001s")
    assert run(small, *words) == 0
    assert len(boots) < 4 and "boots are not whole: --resume makes them" in capsys.readouterr().out
    assert run(small, "--lab", "demo-2s", "--boots", "4", "--jobs", jobs, "--resume") == 0
    assert sorted(repeat for _, repeat, warmup in made(small) if not warmup) == [0, 1, 2, 3]


def test_boots_side_by_side_go_on(small: Path, boots: list[list[str]]) -> None:
    """One record of the second boot's is missing, and the first boot's were not gathered yet."""
    out, words = small.parent / "out", ("--lab", "demo-2s", "--boots", "2", "--jobs", "2")
    assert run(small, *words) == 0
    records = read_run(small)[0]
    (out / "boot-1").mkdir()
    results.rewrite_records(out / "boot-1", [r for r in records if r["repeat"] < 2])
    shutil.copyfile(out / manifest.NAME, out / "boot-1" / manifest.NAME)
    results.rewrite_records(out, [r for r in records if r["repeat"] == 2])
    assert run(small, *words, "--resume") == 0
    assert len(boots) == 3 and sorted(repeat for _, repeat, warmup in made(small) if not warmup) == [0, 1, 2, 3]


def test_a_damaged_manifest_is_not_replaced_by_that_of_a_boot(small: Path, boots: list[list[str]], capsys) -> None:
    out = small.parent / "out"
    assert run(small, "--lab", "demo-2s", "--boots", "2", "--jobs", "2") == 0
    (out / "boot-1").mkdir()
    shutil.copyfile(out / manifest.NAME, out / "boot-1" / manifest.NAME)
    (out / manifest.NAME).write_text("{")
    with pytest.raises(ExperimentError, match=r"manifest.json is damaged: put back the one of the run"):
        parallel_boots.gather_records(out)
    assert (out / "boot-1" / manifest.NAME).exists() and (out / manifest.NAME).read_text() == "{"


def test_on_a_real_machine_each_reboot_is_asked_for(small: Path, monkeypatch, capsys, tmp_path: Path) -> None:
    assert run(small, "--boots", "2") == 0
    assert "1 of 2 boots are left: reboot this machine, then go on with --resume" in capsys.readouterr().out
    assert [repeat for _, repeat, warmup in made(small) if not warmup] == [0, 1]
    assert run(small, "--boots", "2", "--resume") == 3
    assert "boot 1 of 2 is made: reboot this machine" in capsys.readouterr().err
    (tmp_path / "boot").write_text("after the reboot\n")
    monkeypatch.setattr(state, "BOOT", tmp_path / "boot")
    assert run(small, "--boots", "2", "--resume") == 0
    assert "are left" not in capsys.readouterr().out
    assert {boot for boot, repeat, warmup in made(small) if repeat > 1 and not warmup} == {"after the reboot"}


def test_side_by_side_a_boot_that_fails_is_told(small: Path, monkeypatch, capsys) -> None:
    started = []

    def start(_command, _end, **streams) -> subprocess.Popen[bytes]:
        started.append(streams)
        return subprocess.Popen(["sh", "-c", "echo numaplace: no memory >&2; exit 3"], **streams)

    monkeypatch.setattr(run_in_lab, "start_process", start)
    monkeypatch.chdir(small.parent)
    assert run(small, "--lab", "demo-2s", "--boots", "4", "--jobs", "2") == 3
    assert "in the lab (demo-2s): numaplace: no memory (all of it: " in capsys.readouterr().err and len(started) == 1, "none begins after it"


@pytest.mark.parametrize("words, said", [
    (["--boots", "5"], "this run has 4 repeats"), (["--lab", "--boots", "5"], "this run has 4 repeats"),
    (["--lab", "--boots", "0"], "each boot makes one of them at least"),
    (["--lab", "--boots", "2", "--jobs", "3"], "the run has 2 boots"), (["--jobs", "2"], "--jobs is the lab's"),
    (["--lab", "--boots", "1", "--jobs", "2"], "the run has 1 boot:"),
    (["--lab", "--boots", "2", "--repeat-until-ci", "2%"], "give one of them")])
def test_boots_that_cannot_be(small: Path, boots: list[list[str]], capsys, words: list[str], said: str) -> None:
    assert run(small, *words) == 2
    assert said in capsys.readouterr().err and not boots and not (small.parent / "out" / results.NAME).exists()


def test_force_throws_away_what_boots_of_a_killed_run_have_left(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(small.parent)
    out, began = small.parent / "out", []
    (out / "boot-2").mkdir(parents=True)
    manifest.write_manifest(out / "boot-2", {"boots": [{"boot_id": "old"}]})
    results.rewrite_records(out / "boot-2", [{"workload": "w", "policy": "none", "repeat": 1, "order": 0, "boot_id": "old",
                                              "started": "2026-01-01T00:00:00+00:00", "metrics": [], "marks": []}])
    monkeypatch.setattr(run_in_lab, "_run_side_by_side", lambda *_: began.append(results.count_records(out)) or (0, 0))
    run(small, "--force", "--lab", "demo-2s", "--repeats", "2", "--boots", "2", "--jobs", "2")
    assert began == [0]


def test_a_manifest_without_records_counts_as_no_run(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(small.parent)
    out, began = small.parent / "out", []
    (out / "boot-1").mkdir(parents=True)
    manifest.write_manifest(out / "boot-1", {"boots": [{"boot_id": "old"}]})
    monkeypatch.setattr(run_in_lab, "_run_side_by_side", lambda *_: began.append((out / results.NAME).exists()) or (0, 0))
    run(small, "--lab", "demo-2s", "--repeats", "2", "--boots", "2", "--jobs", "2")
    assert began == [False]
