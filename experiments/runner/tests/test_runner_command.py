# SPDX-License-Identifier: GPL-2.0-only
"""A workload of one's own: wrong files give one line, and a real program goes through try."""

import json
import os
import re
import threading
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from experiments.commands.experiment.cli import main
from experiments.commands.worth import trial_suite
from experiments.errors import NotPutBackError, UsageError
from experiments.host import host_nodes, packages
from experiments.host.guard import Guard
from experiments.host.host_nodes import Node
from experiments.host.tool import Numaplace
from experiments.mechanisms import activity
from experiments.paths import HERE
from experiments.runner.observe import Observer
from experiments.runner.records import results
from experiments.runner.suite import command, schedule
from experiments.runner.suite import suite as suites
from experiments.runner.tests import schemas
from experiments.runner.workloads import attached, stealing
from experiments.runner.workloads.command import Command
from tests.waiting import eventually, has_ended

APPS = HERE.code / "experiments/workloads/apps"
HEAD = 'kind = "command"\nname = "own"\nabout = "a test"\n'
# A server that has a child, and a client that sees both.
SERVER = HEAD + """
command = ["sh", "-c", "sleep 1000 & echo $! >{scratch}/child; until grep -q sleep /proc/$!/comm; do kill -0 $! || exit 1; done; echo is up; wait"]
ready = { pattern = "^is up" }
client = ["sh", "-c", "cat {scratch}/child; echo '{{\\"rate\\": [1, 2.5]}}'"]
metric = { name = "rate", unit = "1/s", direction = "higher", json = "rate.1" }
check = { pattern = '"rate"' }
"""
SUITE = """
name = "own"
question = "?"
paper = "none"
machines = ["demo-2s"]
takes = "a minute"
repeats = 1
warmups = 0
seed = 1
nodes = 2
responses = ["rate"]
[factors]
placement = ["none", "maximum-local"]
[[workload]]
file = "own.toml"
"""


def tried(tmp_path: Path, text: str) -> int:
    (tmp_path / "own.toml").write_text(text)
    return main(["try", str(tmp_path / "own.toml")])


@pytest.mark.parametrize("text, said", [
    ("kind = 'command'\n", "'name' is missing"),
    (HEAD, "'command' is missing or not a list of words"),
    (HEAD + "command = ['true']\ncomand = 1\n", "'comand' is not one of name, kind"),
    (HEAD + "command = ['true', '{cpu}']\n", "{cpu} is not one of {nodes}, {cpus}"),
    (HEAD + "command = ['true', '{memory_mib}']\n", "{memory_mib} needs 'memory'"),
    (HEAD + "command = ['true']\nmemory = '0.1 nodes'\n", "'memory' is neither a size"),
    (HEAD + "command = ['true']\nclient = ['true']\n", "'client' needs 'ready'"),
    (HEAD + "command = ['true']\nready = { pattern = '(' }\n", "'ready.pattern': '('"),
    (HEAD + "command = ['true']\nmetric = { name = 'a', unit = 's', direction = 'higher', json = 'a' }\n", "higher is not better for the unit s"),
    (HEAD + "command = ['true']\nmetric = { name = 'a', unit = 's', direction = 'lower', pattern = 'a' }\n", "has 0 groups"),
    (HEAD + "command = [", "correct the file"),
])
def test_a_wrong_file_is_one_line(capsys, tmp_path: Path, text: str, said: str) -> None:
    status = tried(tmp_path, text)
    error = capsys.readouterr().err
    assert (status, error.count("\n"), said in error) == (2, 1, True), error


def test_a_program_that_is_missing_is_named_with_its_package(capsys, tmp_path: Path) -> None:
    status = tried(tmp_path, HEAD + "command = ['true']\nneeds = [{ program = 'no-such-program', debian = 'its-package' }]\n")
    assert (status, capsys.readouterr().err) == (
        3, "numaplace experiment: workload own: no-such-program is not installed: apt-get install its-package\n")


def test_each_missing_need_is_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tried(tmp_path, HEAD + "command = ['true']\nneeds = [" + ", ".join(
        f"{{ program = 'no-such-{k}', debian = 'its-package' }}" for k in range(3)) + "]\n")
    told = "".join(capsys.readouterr())
    assert [told.count(f"no-such-{k} is not installed") for k in range(3)] == [1, 1, 1]


def test_a_server_is_tried_and_leaves_nothing(capsys, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(SERVER.replace("{scratch}/child;", f"{tmp_path}/child;", 1))
    (tmp_path / "own.toml").write_text((tmp_path / "own.toml").read_text().replace("cat {scratch}/child", f"cat {tmp_path}/child"))
    assert main(["try", str(tmp_path / "own.toml")]) == 0
    told = capsys.readouterr().out
    assert "metric    rate = 2.5 1/s, higher is better" in told and "check     ok" in told
    child = int((tmp_path / "child").read_text())
    assert f"sleep-2: pid {child} (sleep)" in told
    assert eventually(lambda: has_ended(child))


@pytest.mark.parametrize("change, said", [
    (("rate.1", "rate.2"), "the output's JSON has no 'rate.2'"),
    (("'\"rate\"'", "'speed'"), "check: 'speed' is not in the output"),
    (("echo is up; wait", "false"), "ended with status 1"),
])
def test_what_fails_is_one_line_with_status_1(capsys, tmp_path: Path, change: tuple[str, str], said: str) -> None:
    status = tried(tmp_path, SERVER.replace(*change))
    error = capsys.readouterr().err
    assert (status, error.count("\n"), said in error) == (1, 1, True), error


def test_a_suite_changes_keys_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(SERVER)
    more = '\n[[workload]]\nfile = "own.toml"\nname = "other"\nmemory = "64M"\nfast_percent = 11\n'
    plain, changed = suites.parse_suite(SUITE + more, tmp_path).workloads
    assert (plain.options["command"].fast_percent, changed.name, changed.options["command"].fast_percent) == (None, "other", 11)
    assert changed.options["command"].command == plain.options["command"].command
    with pytest.raises(UsageError, match="changes 'fast_percent' of its 'file' needs a 'name' of its own"):
        suites.parse_suite(SUITE + more.replace('name = "other"\n', ""), tmp_path)
    with pytest.raises(UsageError, match="'fast_percent' is not a percentage"):
        suites.parse_suite(SUITE + more.replace("11", "-1"), tmp_path)


def test_a_program_of_the_user_s_is_in_a_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.toml").write_text(SERVER)
    alone = suites.choose_cells(suites.load_suite("arena"), ["own.toml"], None)
    assert [w.name for w in alone.workloads] == ["own"] and alone.responses[-1] == "rate"
    assert alone.workloads[0].options["command"].folder == tmp_path
    assert [w.name for w in suites.choose_cells(suites.load_suite("arena"), ["own.toml", "x26*"], None).workloads] == ["x264", "own"]
    with pytest.raises(UsageError, match="workload own.toml: there is one of the name 'x264' already"):
        Path("own.toml").write_text(SERVER.replace('"own"', '"x264"'))
        suites.choose_cells(suites.load_suite("arena"), ["own.toml", "x264"], None)
    with pytest.raises(UsageError, match="other.toml"):
        suites.choose_cells(suites.load_suite("arena"), ["other.toml"], None)
    assert main(["run", "cachetest", "--lab", "--workloads", "own.toml"]) == 2
    assert "suite cachetest makes its workloads of its factors" in capsys.readouterr().err and not Path("results").exists()


def test_a_response_that_no_program_has_is_refused(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(SERVER)
    assert suites.parse_suite(SUITE.replace('"rate"', '"rate", "remote_share"'), tmp_path).responses == ("rate", "remote_share")
    with pytest.raises(UsageError, match="response rat: no workload measures it; there are: rate, remote_share"):
        suites.parse_suite(SUITE.replace('"rate"', '"rat"'), tmp_path)


def test_a_machine_of_one_node_is_refused_before_anything_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr(host_nodes, "list_nodes", lambda *_: host_nodes.list_lab_nodes("2x2")[:1])
    (tmp_path / "own.toml").write_text(HEAD + f'command = ["touch", "{tmp_path}/ran"]\n')
    (tmp_path / "one.toml").write_text(SUITE.replace("nodes = 2", "nodes = 1").replace(', "maximum-local"', "").replace('"rate"', '"seconds"'))
    assert main(["run", str(tmp_path / "one.toml"), "--out", str(tmp_path / "out")]) == 3
    assert "placement none: this machine has one node with memory" in capsys.readouterr().err
    assert not (tmp_path / "ran").exists() and not (tmp_path / "out").exists()


def test_np_mem_runs_to_its_end(capsys, tmp_path: Path) -> None:
    """A real program: what it takes is its metric."""
    status = tried(tmp_path, HEAD + f"""command = ["sh", "-c", "echo 'run 4' | {HERE.programs}/np-mem triad --size 4M --seed {{seed}}"]\nready = {{ pattern = "ready" }}\n""")
    told = capsys.readouterr()
    assert status == 0, told.err
    assert "metric    seconds = " in told.out and "np-mem" in told.out


@pytest.mark.parametrize("path", sorted(APPS.glob("*.toml")), ids=lambda path: path.stem)
def test_the_files_of_the_tree_are_right(path: Path) -> None:
    found = command.read_workload_file(path)
    assert found.name == path.stem and found.check and found.needs
    assert {need.pypi for need in found.needs if need.module} <= packages.read_names(HERE.sources / packages.REQUIREMENTS)


HERE_NODE = Node(0, tuple(sorted(os.sched_getaffinity(0))), {0: 10}, 1 << 20, 1 << 20)


class Ending:
    """What numaplace ps says of a process whose memory is gone while it is not."""

    def __init__(self) -> None:
        self.pages = {"0": 7, "1": 3}

    def read_tasks(self, pids: list[int]) -> dict:
        answer = {"tasks": [{"pid": pid, "node": 0, "pages": self.pages} for pid in pids]}
        self.pages = {"0": 0, "1": 0}
        return answer


def test_of_one_that_ends_its_last_memory_is_known(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(HEAD + 'command = ["sleep", "1000"]\n')
    suite = suites.parse_suite(SUITE.replace("rate", "seconds"), tmp_path)
    running, ending = Command(schedule.Trial(suite.workloads[0], "none", 0, 0, False), suite, [HERE_NODE], tmp_path), Ending()
    try:
        running.start()
        assert running.read_tasks(ending) == running.read_tasks(ending) == [
            {"pid": running.pids[0], "node": 0, "pages": {"0": 7, "1": 3}}]
    finally:
        running.stop()


@pytest.mark.lab
@pytest.mark.full("a run in the lab")
def test_where_the_node_has_no_room_for_all_what_was_moved_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.toml").write_text(HEAD + f"""
command = ["{HERE.programs}/np-hot", "static", "--hot", "25", "--seconds", "1000", "--size", "{{memory_mib}}M"]
ready = {{ pattern = "^ready" }}
client = ["echo", "rate 1"]
memory = "192M"
fast_percent = 10
metric = {{ name = "rate", unit = "1/s", direction = "higher", pattern = "^rate (.*)" }}
""")
    (tmp_path / "suite.toml").write_text(SUITE)
    assert main(["run", "suite.toml", "--lab", "cxl-3n", "--functional", "--out", "out"]) == 0
    placed, = (r for r in results.read_records(tmp_path / "out") if r["policy"] == "maximum-local")
    decision, pages = placed["apply"]["decisions"][0], placed["tasks"][0]["pages_after"]
    moved = decision["result"]["migrate"]["moved"]
    assert placed["check"] == "ok" and 0 < moved <= activity.count_moved(placed["kernel"])
    assert pages[str(decision["pages_to"])] < 0.9 * sum(pages.values())


FAULTY = """
from experiments.mechanisms.mechanism import Mechanism


class Faulty(Mechanism):
    name = "faulty"
    about = "of a test"

    def lacks(self, nodes):
        return None

    def METHOD:
        raise KeyError("a fault")
"""
BEFORE_EXEC = "before_exec(self, nodes):\n        return self.fail\n\n    def fail(self)"


@pytest.mark.parametrize("method, why", [
    ("set_up(self, scope)", "mechanism faulty: set_up(): .*faulty.py, line 13: KeyError: 'a fault'"),
    ("attach(self, scope, pids)", "mechanism faulty: attach(): .*faulty.py, line 13: KeyError: 'a fault'"),
    (BEFORE_EXEC, "SubprocessError: Exception occurred in preexec_fn"),
    ("tear_down(self)", "mechanism faulty: tear_down(): .*faulty.py, line 13: KeyError: 'a fault'"),
])
def test_a_fault_of_a_mechanism_marks_its_observation(method: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.toml").write_text(SERVER)
    text = FAULTY.replace("METHOD", method)
    (tmp_path / "faulty.py").write_text(text + ("\n    def attach(self, scope, pids):\n        pass\n" if "tear" in method else ""))
    (tmp_path / "suite.toml").write_text(SUITE.replace("nodes = 2", "nodes = 1").replace('"none", "maximum-local"', '"./faulty.py"'))
    assert main(["run", "suite.toml", "--out", "out"]) == 1
    marks = [record["marks"] for record in results.read_records(tmp_path / "out")]
    assert len(marks) == schedule.ATTEMPTS and all(re.search(why.replace("()", r"\(\)"), " ".join(found)) for found in marks), marks


def test_what_cannot_be_put_back_ends_the_run_after_its_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.toml").write_text(SERVER)
    (tmp_path / "suite.toml").write_text(SUITE.replace("nodes = 2", "nodes = 1").replace("repeats = 1", "repeats = 3")
                                         .replace('"none", "maximum-local"', '"./faulty.py"'))
    (tmp_path / "gone").write_text("1")
    (tmp_path / "faulty.py").write_text(FAULTY.replace("METHOD", "set_up(self, scope)").replace(
        'raise KeyError("a fault")', 'scope.guard.write(FILE, "2")\n        FILE.unlink()\n        FILE.mkdir()')
        + f"\n\nfrom pathlib import Path\nFILE = Path({str(tmp_path / 'gone')!r})\n")
    assert main(["run", "suite.toml", "--out", "out"]) == NotPutBackError.status
    record, = results.read_records(tmp_path / "out")
    assert record["marks"] == [f"not put back: {tmp_path}/gone: Is a directory: put it back by hand"]


def test_a_table_in_the_place_of_tables_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(HEAD + "command = ['true']\n")
    words = SUITE.replace("[factors]", "workload = [1]\n[factors]").partition("[[workload]]")[0]
    for wrong in (SUITE.replace("[[workload]]", "[workload]"), words):
        with pytest.raises(UsageError, match=r"'workload' is no list of tables: write \[\[workload\]\]"):
            suites.parse_suite(wrong, tmp_path)


def test_a_node_that_a_suite_lacks_is_no_place_to_begin(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(HEAD + "command = ['true']\n")
    with pytest.raises(UsageError, match=r"command.initial_node: node 2 does not exist; the suite has 2 nodes"):
        suites.parse_suite(SUITE + "[command]\ninitial_node = 2\n", tmp_path)
    with pytest.raises(UsageError, match="command.initial_node: node 2 does not exist"):
        suites.change_parameters(suites.parse_suite(SUITE.replace('"rate"', '"seconds"'), tmp_path), ["command.initial_node=2"])


def test_a_suite_that_looks_has_what_was_counted_over_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A faulty mechanism ends the looks, too."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.toml").write_text(SERVER.replace('"cat ', '"sleep 0.3; cat '))
    faulty = FAULTY.replace("METHOD", "attach(self, scope, pids)")
    (tmp_path / "faulty.py").write_text(faulty)
    (tmp_path / "idle.py").write_text(faulty.replace('"faulty"', '"idle"').replace('raise KeyError("a fault")', "pass"))
    text = SUITE.replace("nodes = 2", "nodes = 1").replace('"none", "maximum-local"', '"./idle.py", "./faulty.py"') + "[command]\nlook = 0.05\n"
    (tmp_path / "suite.toml").write_text(text)
    assert main(["run", "suite.toml", "--out", "out"]) == 1
    record, = (record for record in results.read_records(tmp_path / "out") if "idle" in record["policy"])
    times = [look["t_s"] for look in record["kernel"]["looks"]]
    assert len(times) > 3 and record["apply_at"][0] <= times[0] and times[-1] - times[0] > 0.3
    assert schemas.list_faults("results", record) == []
    assert not any("_look_until_end" in str(thread) for thread in threading.enumerate())
    with pytest.raises(UsageError, match="command.look: is not more than 0 s"):
        suites.parse_suite(text.replace("0.05", "0.0"), tmp_path)


@pytest.mark.lab
@pytest.mark.long("a boot, and eight programs")
def test_programs_begin_on_the_node_of_the_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And may run on all. The kernel starts each program where it likes."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.toml").write_text(HEAD + f"""
command = ["{HERE.programs}/np-hot", "static", "--seconds", "1000", "--size", "64M"]
ready = {{ pattern = "^ready" }}
client = ["sh", "-c", "taskset -cp $(pidof np-hot); echo rate 1"]
check = {{ pattern = "list: 0-3$" }}
metric = {{ name = "rate", unit = "1/s", direction = "higher", pattern = "^rate (.*)" }}
""")
    (tmp_path / "suite.toml").write_text(SUITE.replace("repeats = 1", "repeats = 8").replace(', "maximum-local"', "") + "[command]\ninitial_node = 1\n")
    assert main(["run", "suite.toml", "--lab", "demo-2s", "--functional", "--out", "out"]) == 0
    records = results.read_records(tmp_path / "out")
    assert [record["check"] for record in records] == 8 * ["ok"]
    pages = [record["tasks"][0]["pages_before"] for record in records]
    assert [on["1"] > 0.9 * sum(on.values()) for on in pages] == 8 * [True]


@pytest.mark.lab
@pytest.mark.long("a boot and a run")
def test_a_suite_places_it_in_the_lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.toml").write_text(SERVER)
    (tmp_path / "suite.toml").write_text(SUITE)
    assert main(["run", "suite.toml", "--lab", "demo-2s", "--functional", "--out", "out"]) == 0
    records = results.read_records(tmp_path / "out")
    assert sorted((r["policy"], r["check"]) for r in records) == [("maximum-local", "ok"), ("none", "ok")]
    for record in records:
        assert [task["comm"] for task in record["tasks"]] == ["sh", "sleep"]
        assert {"name": "rate", "unit": "1/s", "value": 2.5} in record["metrics"]
        assert len(record["apply"]["decisions"]) == 2
    assert json.loads((tmp_path / "out/manifest.json").read_text())["commands"]["own"]["workload"]["kind"] == "command"


@pytest.mark.parametrize("level, counts", [("none", True), ("start-bind:node=0", True), ("maximum-local", False), ("numa-balancing", False)])
def test_a_program_that_nobody_could_look_at_counts_where_nobody_needs_to(level: str, counts: bool, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(HEAD + "command = ['true']\nwarm_up = 60\n")  # it has ended by then, on any host
    suite = suites.parse_suite(SUITE.replace('"rate"', '"seconds"'), folder=tmp_path)
    with Guard() as guard:
        observer = Observer(suite, host_nodes.list_nodes(), Numaplace(), guard.scratch, "real", guard)
        record = observer.observe(schedule.Trial(suite.workloads[0], level, 0, 0, False))
    if not counts:
        assert any("before it could be" in mark for mark in record["marks"]), record
        return
    assert [mark for mark in record["marks"] if "numa_balancing" not in mark] == [] and record["check"] == "ok" and record["tasks"] == []
    assert [m["name"] for m in record["metrics"]][0] == "seconds"


# Options that are a time or a rate, by program.
TIMED = {"np-hot": ("--seconds", "--period"), "np-mm": ("--seconds",), "np-files": ("--seconds",), "pgbench": ("-T",),
         "open_loop.py": ("--seconds", "--warm-up", "--rate")}


def find_unscaled(one: command.Command) -> list[str]:
    """Finds options with a time or rate that is the same at every speed of a machine, and those of open_loop.py that are left out."""
    found = []
    for words in (one.command, one.load, one.client):
        for program in (name for name in TIMED if any(word.endswith(name) for word in words)):
            given = {option: words[words.index(option) + 1] for option in TIMED[program] if option in words}
            found += [f"{option} {value}" for option, value in given.items() if not command.SCALED_PLACE.fullmatch(value.strip("{}"))]
            found += [option for option in TIMED[program] if option not in given and program == "open_loop.py" and "run" in words]
    return found


def test_times_and_rates_of_the_workloads_follow_the_machine_s_speed() -> None:
    of_files = [command.read_workload_file(path) for path in sorted(APPS.glob("*.toml"))]
    of_suites = [w.options["command"] for name in suites.list_names() for w in suites.load_suite(name).workloads if w.kind == "command"]
    assert {one.name: found for one in (*of_files, *of_suites) if (found := find_unscaled(one))} == {}


@pytest.mark.parametrize("scale, late", [(1, False), (10, True)])
def test_a_program_is_placed_later_at_a_part_of_a_machine_s_speed(scale: int, late: bool, tmp_path: Path, monkeypatch) -> None:
    """At 1/10 of its speed it is looked at after 3 s in the place of 0.3 s, when a program of 2 s has ended."""
    monkeypatch.setattr(host_nodes, "read_lab_scale", lambda: scale)
    (tmp_path / "own.toml").write_text(HEAD + "command = ['sleep', '2']\nwarm_up = 0.3\n")
    suite = suites.parse_suite(SUITE.replace('"rate"', '"seconds"'), folder=tmp_path)
    with Guard() as guard:
        observer = Observer(suite, host_nodes.list_nodes(), Numaplace(), guard.scratch, "real", guard)
        record = observer.observe(schedule.Trial(suite.workloads[0], "start-bind:node=0", 0, 0, False))
    assert (record["tasks"] == []) == late, record


def test_running_processes_are_watched_for_longer_at_a_part_of_a_machine_s_speed(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(host_nodes, "read_lab_scale", lambda: 16)
    slept: list[float] = []
    monkeypatch.setattr(attached.time, "sleep", slept.append)
    (tmp_path / "rate").write_text("1")
    table = trial_suite.format_processes([os.getpid()], 5, 1, f"file://{tmp_path}/rate", "([0-9]+)")
    suite = suites.parse_suite(trial_suite.format_suite("demo-2s/16", ["none"], 1, "rate", table))
    attached.Attached(schedule.Trial(suite.workloads[0], "none", 0, 0, False), suite, host_nodes.list_nodes(), tmp_path).measure()
    assert slept == [16, 80]


def test_a_runtime_s_counters_are_read_as_often_in_its_work_at_a_part_of_a_machine_s_speed(monkeypatch) -> None:
    monkeypatch.setattr(host_nodes, "read_lab_scale", lambda: 16)
    counting = MagicMock()
    monkeypatch.setattr(stealing, "Counting", counting)
    running = stealing.Stealing.__new__(stealing.Stealing)
    running.cpus, running.results = (0, 1), []
    running._time_pass(MagicMock(), 2, [])
    counting.assert_called_once_with((0, 1), 16 * stealing.INTERVAL)
