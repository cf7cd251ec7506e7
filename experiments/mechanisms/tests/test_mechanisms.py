# SPDX-License-Identifier: GPL-2.0-only
"""Levels that name mechanisms, their parameters, and mechanisms of the user's."""

import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.commands.worth import trial_suite
from experiments.errors import CannotError, ExperimentError, NotPutBackError, UsageError
from experiments.host import guard as guard_of
from experiments.host import host_nodes
from experiments.host.guard import Guard
from experiments.mechanisms import damon, mechanism, numad, registry, sched_ext
from experiments.paths import HERE
from experiments.runner import active_mechanism
from experiments.runner.suite import suite as suites
from tests.waiting import eventually

PAGE = Path(__file__).resolve().parents[3] / "Documentation/reference/mechanisms.md"


def test_levels_are_policies_or_mechanisms() -> None:
    levels = ("none", "none#2", "maximum-local:pages=follow", "numa-balancing", "tiering:hot_threshold_ms=100#2")
    assert registry.select_policies(levels) == list(levels[:3])
    assert registry.make_mechanism(levels[4]).values["hot_threshold_ms"] == 100


@pytest.mark.parametrize("level, why", [
    ("tiering:speed=1", "has no parameter 'speed': it has scan_delay_ms"),
    ("numa-balancing:scan_delay_ms=x", "a whole number from 1 to 60000"),
    ("numa-balancing:scan_delay_ms=0", "a whole number from 1 to 60000"),
    ("./nowhere.py", "correct the file"),
])
def test_a_wrong_level_is_one_line(level: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as caught:
        registry.make_mechanism(level)
    assert "\n" not in str(caught.value)


def test_the_mechanism_of_the_page_is_one(tmp_path: Path) -> None:
    file = tmp_path / "hurry.py"
    file.write_text(re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1], encoding="utf-8")
    found = registry.make_mechanism(f"{file}:pause_ms=5")
    assert (found.name, found.values) == ("hurry", {"pause_ms": 5})
    file.write_text("import no_such_module\n", encoding="utf-8")
    with pytest.raises(UsageError, match="ModuleNotFoundError"):
        registry.make_mechanism(str(file))


def test_the_scheduler_of_the_page_is_one(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8").partition("### A scheduler")[2], re.DOTALL)[1],
                    encoding="utf-8")
    found = registry.make_mechanism(str(file))
    assert (found.name, found.scheduler) == ("mine", Path.cwd() / "mine.bpf.o")


def test_the_page_has_every_mechanism() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \|", PAGE.read_text(encoding="utf-8").partition("## A mechanism")[0], re.MULTILINE)
    assert sorted(name for name in rows if name in registry.KNOWN) == sorted(registry.KNOWN)


def test_one_node_lacks_every_mechanism() -> None:
    nodes = host_nodes.list_lab_nodes("2x2")[:1]
    assert all("--lab 2x2" in of({}).lacks(nodes) for of in registry.KNOWN.values())


def test_the_list_names_what_is_missing() -> None:
    done = subprocess.run([HERE.programs / "numaplace", "experiment", "mechanisms", "--json"], capture_output=True, text=True, check=True)
    assert [row["name"] for row in json.loads(done.stdout)] == list(registry.KNOWN)


def test_the_list_has_a_file_of_the_user_s(tmp_path: Path) -> None:
    file = tmp_path / "hurry.py"
    file.write_text(re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1], encoding="utf-8")
    listed = [HERE.programs / "numaplace", "experiment", "mechanisms"]
    done = subprocess.run([*listed, "--json", file], capture_output=True, text=True, check=True)
    row, = json.loads(done.stdout)
    assert (row["name"], row["parameters"]["pause_ms"]["high"]) == (str(file), 60000)
    wrong = subprocess.run([*listed, "hurry"], capture_output=True, text=True, check=False)
    assert (wrong.returncode, wrong.stderr) == (2, "numaplace experiment: mechanisms hurry: is no file NAME.py\n")


def test_a_scope_undoes_in_reverse_and_says_what_it_could_not(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text("1\n", encoding="ascii")
    second.write_text("a\n", encoding="ascii")
    with Guard() as guard:
        guard.write(second, "b")
        with guard.open_scope():
            guard.write(first, "2")
            guard.write(first, "3")
            guard.keep(second)
            second.write_text("c", encoding="ascii")
        assert (first.read_text(encoding="ascii"), second.read_text(encoding="ascii")) == ("1\n", "b")
        with pytest.raises(NotPutBackError, match=f"not put back: {tmp_path}/gone/file"), guard.open_scope():
            (tmp_path / "gone").mkdir()
            (tmp_path / "gone/file").write_text("1", encoding="ascii")
            guard.write(tmp_path / "gone/file", "2")
            (tmp_path / "gone/file").unlink()
            (tmp_path / "gone").rmdir()
    assert second.read_text(encoding="ascii") == "a\n"


def test_a_fault_says_what_it_left_behind(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    (tmp_path / "gone/file").write_text("1", encoding="ascii")
    with pytest.raises(ZeroDivisionError) as caught, Guard() as guard, guard.open_scope():
        guard.write(tmp_path / "gone/file", "2")
        shutil.rmtree(tmp_path / "gone")
        _ = 1 / 0
    assert caught.value.__notes__ == [f"not put back: {tmp_path}/gone/file: No such file or directory: put it back by hand"]


def test_a_file_of_choices_is_put_back_by_the_one_that_it_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As transparent_hugepage/enabled: the kernel takes one word, and shows all with that one in brackets."""
    monkeypatch.setattr(guard_of, "SYSFS", tmp_path / "sys")
    (tmp_path / "sys").mkdir()
    kernel, own = tmp_path / "sys/enabled", tmp_path / "list"
    for path in (kernel, own):
        path.write_text("[always] madvise never\n", encoding="ascii")
    with Guard() as guard:
        with guard.open_scope():
            guard.write(kernel, "never")
            guard.write(own, "never")
        assert (kernel.read_text(encoding="ascii"), own.read_text(encoding="ascii")) == ("always", "[always] madvise never\n")
        kernel.write_text("always [madvise] never\n", encoding="ascii")
        guard.write(kernel, "madvise")
        assert guard.steps == 0, "it says that already"


def test_a_write_that_the_kernel_refuses_leaves_nothing_to_undo() -> None:
    with Guard() as guard:
        with pytest.raises(OSError), guard.open_scope():
            guard.write(Path(f"/proc/{os.getpid()}/oom_score_adj"), "5000")  # 1000 is the most
        guard.keep(Path("/proc/self/oom_score_adj"))
        with pytest.raises(OSError):
            guard.write(Path(f"/proc/{os.getpid()}/oom_score_adj"), "5000")
        assert guard.steps == 1, "the step before it stays"


@pytest.mark.parametrize("said, why", [("0\n", None), ("2\n", "DAMON is in use: end it, and write 0 to ")])
def test_threads_of_damon_that_somebody_else_has_described_are_left_alone(said: str, why: str | None, tmp_path: Path,
                                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nr_kdamonds").write_text(said, encoding="ascii")
    monkeypatch.setattr(damon, "ADMIN", tmp_path)
    monkeypatch.setattr(damon, "explain_one_tier", lambda: None)
    found = registry.make_mechanism("damon").lacks(host_nodes.list_lab_nodes("2x2"))
    assert found == (why and why + str(tmp_path / "nr_kdamonds"))


def test_a_numad_that_runs_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numad, "PID_FILE", tmp_path / "numad.pid")
    assert numad.explain_running() is None, "no file"
    shutil.copy(shutil.which("sleep"), tmp_path / "numad")
    process = subprocess.Popen([tmp_path / "numad", "1000"])
    try:
        numad.PID_FILE.write_text(f"{process.pid}\n", encoding="ascii")
        assert eventually(lambda: numad.explain_running() == f"numad runs already, as process {process.pid}: end it")
        numad.PID_FILE.write_text(f"{os.getpid()}\n", encoding="ascii")
        assert numad.explain_running() is None, "the number is another program's"
    finally:
        process.kill()
        process.wait()


def test_a_mechanism_does_nothing_to_processes_of_the_user_s(tmp_path: Path) -> None:
    """Their pages would stay where it has moved them, and what they fork in its cgroup would keep it."""
    file = tmp_path / "own.py"
    file.write_text(OWN, encoding="utf-8")
    user_s = trial_suite.format_processes([os.getpid()], 5, 1, "", "")
    (tmp_path / "s.toml").write_text(trial_suite.format_suite("m", ["none", str(file)], 1, "rate", user_s), encoding="utf-8")
    with pytest.raises(CannotError, match="what it does to processes, which run already, cannot be undone: leave it out with --placements"):
        active_mechanism.check_mechanisms(suites.load_suite(str(tmp_path / "s.toml")), host_nodes.list_lab_nodes("2x2"))


def test_a_scheduler_that_is_refused_leaves_nothing_to_undo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sched_ext.os, "geteuid", lambda: 1000)
    found = registry.make_mechanism("sched-ext")
    with Guard() as guard:
        with pytest.raises(CannotError, match="run as root"):
            found.set_up(mechanism.Scope([], guard))
        assert guard.steps == 0


def test_a_file_that_may_not_be_looked_for_is_root_s(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, **_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "stat", refuse)
    assert mechanism.missing(Path("/sys/kernel/debug/sched")) == "/sys/kernel/debug/sched may not be looked for: run as root"


def test_files_of_a_process_that_has_ended_need_no_undo() -> None:
    sleeper = subprocess.Popen(["sleep", "1000"])
    with Guard() as guard, guard.open_scope():
        guard.write(Path(f"/proc/{sleeper.pid}/oom_score_adj"), "17")
        sleeper.kill()
        sleeper.wait()


OWN = """
from experiments.mechanisms.mechanism import Mechanism, Parameter


class Own(Mechanism):
    name = "own"
    about = "of a test"
    parameters = {"node": Parameter("a node", 0, 3, 0)}

    def attach(self, scope, pids):
        raise RuntimeError("a fault")
"""


@pytest.mark.parametrize("old, new, why", [
    ("attach", "attach_to", r"has none of set_up\(\), before_exec\(\), attach\(\): it does nothing"),
    ("    about", "    other", "class Own has no 'about'"),
    ("0, 3, 0", "0, 3, 4", "parameter node: 0 to 3, default 4"),
    ("0, 3, 0", "3, 0", "parameter node: 3 to 0"),
    ("0, 3, 0", "'0', 3", "parameter node: takes whole numbers"),
    ("attach(self, scope, pids)", "__init__(self)", r"class Own has an __init__\(\) of its own"),
    ("raise RuntimeError", "pass\n\n\nraise SystemExit", "SystemExit: a fault"),
    ('{"node": Parameter("a node", 0, 3, 0)}', '["node"]', "parameters: is no table of Parameter"),
])
def test_a_file_that_is_no_mechanism_is_refused(old: str, new: str, why: str, tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(OWN.replace(old, new), encoding="utf-8")
    with pytest.raises(UsageError, match=f"mechanism {file}: {why}.*: correct the file"):
        registry.make_mechanism(str(file))


def test_a_fault_of_a_mechanism_is_one_line_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(OWN, encoding="utf-8")
    with pytest.raises(ExperimentError) as caught:
        registry.make_mechanism(str(file)).call("attach", None, ())
    assert str(caught.value) == f"mechanism own: attach(): {file}, line 11: RuntimeError: a fault"
    with pytest.raises(ExperimentError, match=r"mechanism own: attach\(\): TypeError: .* missing 2 required"):
        registry.make_mechanism(str(file)).call("attach")
    file.write_text(OWN.replace("    def attach(self, scope, pids):\n        raise RuntimeError", "    attach = 5\n    RuntimeError"), encoding="utf-8")
    with pytest.raises(ExperimentError, match=r"mechanism own: attach\(\): TypeError: 'int' object is not callable"):
        registry.make_mechanism(str(file)).call("attach", None, ())


@pytest.mark.parametrize("level, scale, found, said", [
    ("tiering:scan_size_mb=2048,promote_rate_limit_mbps=16", 1, {"scan_size_mb": 2048, "promote_rate_limit_mbps": 16}, []),
    ("tiering:scan_size_mb=2048,promote_rate_limit_mbps=16", 16, {"scan_size_mb": 128, "promote_rate_limit_mbps": 1}, [
        "tiering: scan_size_mb is 128 in the place of 2048 at 1/16 of the machine's speed",
        "tiering: promote_rate_limit_mbps is 1 in the place of 16 at 1/16 of the machine's speed"]),
    ("tiering:scan_size_mb=100,promote_rate_limit_mbps=63", 32, {"scan_size_mb": 3, "promote_rate_limit_mbps": 2}, None),
    # DAMON takes bytes.
    ("damon", 16, {"quota_mbps": 12.5}, ["damon: quota_mbps is 12.5 in the place of 200 at 1/16 of the machine's speed"]),
    ("damon:quota_mbps=1", 64, {"quota_mbps": 1 / 64}, None),
])
def test_sizes_are_divided_at_a_part_of_a_machine_s_speed(level: str, scale: int, found: dict[str, float], said: list[str] | None,
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mechanism, "read_lab_scale", lambda: scale)
    one = registry.make_mechanism(level)
    assert {name: one.read_values()[name] for name in found} == found
    assert said is None or one.describe_scaled() == said


def test_a_quota_of_damon_is_divided_by_the_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mechanism, "read_lab_scale", lambda: 16)
    assert registry.make_mechanism("damon")._make_scheme("migrate_cold", 1)["quotas/bytes"] == 12_500_000


def test_a_size_of_which_nothing_would_be_left_is_refused_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mechanism, "read_lab_scale", lambda: 32)
    monkeypatch.setattr(registry.KNOWN["tiering"], "lacks", lambda *_: None)
    suite = replace(suites.load_suite("promotion"), policies=("tiering:scan_size_mb=2048,promote_rate_limit_mbps=16",))
    with pytest.raises(CannotError) as caught:
        active_mechanism.check_mechanisms(suite, [])
    assert str(caught.value) == ("mechanism tiering: promote_rate_limit_mbps=16 is less than a whole number at 1/32 of the machine's "
                                 "speed: give 32 or more, or take more of its speed")
