# SPDX-License-Identifier: GPL-2.0-only
"""numaplace worth: what it runs, what it says of known runs, and programs in the lab whose answers are known."""

import json
import random
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.analysis.policies.decision import Decision
from experiments.analysis.tests import synthetic
from experiments.commands.worth import cli, target, trial_suite, verdict
from experiments.errors import ExperimentError, UsageError
from experiments.host import mappings
from experiments.lab.command import build_words
from experiments.paths import HERE
from experiments.runner.repeats import looks
from experiments.runner.suite import suite as suites

ROOT = Path(__file__).resolve().parents[4]


def make_option(policy: str, value: float, half: float, blocks: int = 10, boots: int = 0) -> Decision:
    return Decision("program", policy, value, value - half, value + half, blocks, boots=boots, observations=blocks, looked_at=True)


def write_run(folder: Path, lines: list[dict], manifest: dict | None = None) -> Path:
    """Writes a run as worth makes it, which is looked at before it ends."""
    return synthetic.write(folder, lines, (manifest or {}) | {"suite_text": "looks = true"})


def test_best_and_worst_are_named() -> None:
    found = verdict.judge_options([make_option("start-interleave", 1.11, 0.03), make_option("start-bind:node=1", 0.94, 0.02),
                                   make_option("daemon", 1.05, 0.01)], 5, 0.41)
    assert found.format_sentence() == ("interleave +11 % [8, 14] within this boot; bind:node=1 loses 6 %; "
                                       "41 % of its memory is on other nodes than its own")


def test_the_mapping_with_most_of_the_remote_memory_is_named(tmp_path: Path) -> None:
    lines = [synthetic.observation("cross", policy, k, value=500.0 + k) for k in range(3) for policy in ("none", "maximum-local")]
    roles = {task["role"]: task["node_before"] for task in lines[0]["tasks"]}
    role, home = next(iter(roles.items()))
    away = str(1 - home)
    lines[0]["mappings"] = {role: {"/data/model.gguf": {str(home): 1 << 20, away: 2 << 20}, "the heap": {away: 1 << 20},
                                   "anonymous memory": {str(home): 9 << 20}}}
    assert verdict.read_verdict(write_run(tmp_path / "one", lines)).most == "the file /data/model.gguf (3.0 GiB)"
    lines[0]["mappings"][role]["the heap"] = {away: 2 << 20}
    assert verdict.read_verdict(write_run(tmp_path / "two", lines)).most == "", "none has more than half"
    lines[0]["mappings"][role] = {"/lib/libc.so.6": {away: 1 << 10}, "anonymous memory": {str(home): 9 << 20}}
    assert verdict.read_verdict(write_run(tmp_path / "three", lines)).most == "", "it is little of the memory"
    found = verdict.judge_options([make_option("daemon", 1.05, 0.01)], 5, 0.41, most="the heap (5 MiB)")
    assert found.format_sentence().endswith("41 % of its memory is on other nodes than its own, most remote memory is in the heap (5 MiB)")
    assert replace(found, remote=0.004).format_sentence().endswith("; 0 % of its memory is on other nodes than its own"), "so is hardly any"
    assert replace(found, accesses=0.04).format_sentence().endswith("; 4 % of accesses are remote"), "hardly any is to it"


def test_accesses_are_told_where_they_are_counted(tmp_path: Path) -> None:
    lines = [synthetic.observation("cross", policy, k, value=500.0 + k) for k in range(3) for policy in ("none", "maximum-local")]
    for line in lines:
        line["metrics"].append({"name": "remote_share", "unit": "fraction", "value": 0.4 if line["policy"] == "none" else 0.1})
    found = verdict.read_verdict(write_run(tmp_path, lines))
    assert found.accesses == pytest.approx(0.4) and found.format_sentence().endswith("; 40 % of accesses are remote")
    lines[0]["metrics"].pop()
    assert verdict.read_verdict(write_run(tmp_path / "some", lines)).accesses is None, "of two of three runs"


def test_mappings_are_read_by_node(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7/numa_maps").write_text("7f00 default file=/a\\040b mapped=3 N0=1 N1=2 kernelpagesize_kB=4\n"
                                          "7f10 prefer:1 anon=2 dirty=2 N1=2 kernelpagesize_kB=2048\n7f20 default heap anon=1 N0=1\n"
                                          "7f30 default file=/a\\040b N0=5 kernelpagesize_kB=4\n7f40 default\n")
    assert mappings.read_mappings(7, tmp_path) == {"/a b": {"0": 24, "1": 8}, "anonymous memory": {"1": 4096}, "the heap": {"0": 4}}
    assert mappings.read_mappings(8, tmp_path) == {}


@pytest.mark.parametrize("weak, sentence", [
    (make_option("daemon", 1.005, 0.001), "nothing is worth it"),
    (make_option("daemon", 0.95, 0.04), "nothing is worth it"),
    (make_option("daemon", 1.009, 0.0005), "nothing is worth it"),
    (make_option("daemon", 1.008, 0.006), "not decided: daemon +1 % [0, 1]"),
    (make_option("daemon", 1.2, 0.3), "not decided: daemon +20 % [-10, 50]"),
    (make_option("daemon", 1.2, 0.1, 9), "not decided: daemon +20 % [10, 30]; fewer than 10 blocks"),
    (make_option("daemon", 0.9, 0.01, 9), "not decided: daemon -10 % [-11, -9]; fewer than 10 blocks"),
    (make_option("daemon", 1.2, 0.1, 12, 2), "not decided: daemon +20 % [10, 30]; fewer than 3 boots"),
    (replace(make_option("daemon", 0.9, 0.1), low=None, high=None), "not decided: daemon -10 %"),
])
def test_a_gain_that_is_small_is_none_and_one_that_is_uncertain_is_not_decided(weak: Decision, sentence: str) -> None:
    found = verdict.judge_options([weak, make_option("start-interleave", 0.7, 0.01)], 10, None)
    assert found.format_sentence() == f"{sentence}{' within this boot' * (weak.boots == 0)}; interleave loses 30 %" and found.best is None
    assert found.make_dict()["decided"] == sentence.startswith("nothing")


def test_an_option_is_named_from_one_percent_on_that_holds_for_certain() -> None:
    assert verdict.judge_options([make_option("daemon", 1.01, 0.009)], 10, None).format_sentence() == "daemon +1 % [0, 2] within this boot"
    assert verdict.judge_options([make_option("daemon", 1.2, 0.1, 12, 3)], 12, None).format_sentence() == "daemon +20 % [10, 30]"
    same = verdict.judge_options([make_option("daemon", 2.0, 0)], 10, None)
    assert same.format_sentence() == "daemon +100 % [100, 100] within this boot", "the same in all blocks"


def draw_verdict(draw: random.Random, folder: Path, gain: float, options: int, blocks: int, noise: float) -> verdict.Verdict:
    """Draws a run of options that all gain the same, and judges it."""
    names = ["none", *(f"option-{k}" for k in range(options))]
    lines = [synthetic.observation("cross", name, k, value=500 * draw.gauss(1, noise) * (1 if name == "none" else 1 + gain), platform="real")
             for k in range(blocks) for name in names]
    return verdict.read_verdict(write_run(folder, lines))


def test_the_interval_of_the_option_that_is_named_holds_its_gain(tmp_path: Path) -> None:
    """It is the largest of seven: an interval of one alone holds in 90 % of such cases, and of five of ten where noise is 5 %."""
    draw = random.Random(1)
    named = [found.best for _ in range(100) if (found := draw_verdict(draw, tmp_path, 0.03, 7, 10, 0.03)).best]
    assert len(named) > 20 and sum(one.low <= 1.03 <= one.high for one in named) >= 0.93 * len(named)


def test_all_looks_together_have_five_percent() -> None:
    shares = [1 - looks.compute_level(7, blocks) for blocks in looks.LOOKS]
    assert 0.049 > 7 * sum(shares) > 0.04 and sorted(shares, reverse=True) == shares
    assert looks.compute_level(7, 12) == looks.compute_level(7, 14) > looks.compute_level(7, 10) == looks.compute_level(7, 3)
    assert looks.compute_level(1, 12, 3) == looks.compute_level(1, 10) == pytest.approx(0.975)
    assert looks.compute_level(1, 16, 4) == looks.compute_level(1, 14)


def test_boots_are_the_blocks_where_there_are_several(tmp_path: Path) -> None:
    """Each boot makes the option faster or slower as a whole: its repeats, which hardly differ, say nothing of that."""
    boots = {"a": 1.00, "b": 1.06, "c": 1.03}
    lines = [synthetic.observation("cross", policy, 4 * b + k, value=500 * (1 + k / 1e4) * (factor if policy != "none" else 1), platform="real")
             | {"boot_id": boot} for b, (boot, factor) in enumerate(boots.items()) for k in range(4) for policy in ("none", "n-mass")]
    [found] = verdict.read_verdict(write_run(tmp_path, lines)).options
    assert (found.observations, found.boots) == (12, 3) and found.low < 1 < found.high and found.value == pytest.approx(1.03)


def test_the_table_says_of_each_option_whether_it_is_decided() -> None:
    found = verdict.judge_options([make_option("daemon", 1.0, 0.002), make_option("start-interleave", 0.98, 0.05),
                                   make_option("numa-balancing", 0.998, 0.001)], 12, None)
    assert verdict.format_table(found).splitlines() == [
        "  daemon          +0 % [0, 0]", "  numa-balancing  +0 % [0, 0]", "  interleave      -2 % [-7, 3], undecided", "12 runs of the program as it is"]
    assert "daemon  +0 % [-10, 10], undecided" in verdict.format_table(verdict.judge_options([make_option("daemon", 1.0, 0.1, 3)], 3, None))


@pytest.mark.parametrize(("machine", "platform", "named"), [
    ("demo-2s", "real", "real: measured on real hardware"),
    ("demo-2s/16", "lab-timed", "lab-timed, 1/16 speed: times come from the lab's memory model, not from hardware"),
])
def test_the_table_ends_with_the_platform(tmp_path: Path, machine: str, platform: str, named: str) -> None:
    lines = [synthetic.observation("cross", policy, k, value=500.0 + k, platform=platform) for k in range(3)
             for policy in ("none", "maximum-local")]
    found = verdict.read_verdict(write_run(tmp_path, lines, {"machine": machine, "platform": platform}))
    assert verdict.format_table(found).splitlines()[-2:] == ["3 runs of the program as it is", named]
    assert found.make_dict()["platform"] == named


def write_lab_run(folder: Path, gain: float) -> Path:
    """Writes a run with all memory remote as it is and all local under n-mass, where on machines with other links the same gives up to
    10 % more or less."""
    lines = [synthetic.observation("cross", policy, k, value=500 * factor * (1 + k / 1000), platform="lab-timed") for k in range(10)
             for policy, factor in (("none", 1.0), ("n-mass", gain))]
    return write_run(folder, lines, synthetic.TIMED)


def test_the_runs_decide_that_nothing_is_worth_it_and_every_machine_that_something_is(tmp_path: Path) -> None:
    still, small, large = (verdict.read_verdict(write_lab_run(tmp_path / str(gain), gain)) for gain in (1.0, 1.05, 1.5))
    assert still.format_sentence().startswith("nothing is worth it") and still.make_dict()["decided"]
    assert small.format_sentence().startswith("not decided: n-mass +5 % [-11, 30], but not on every machine that the model may stand for "
                                              "within this boot;")
    assert "n-mass  +5 % [-11, 30], but not on every machine" in verdict.format_table(small) and not small.make_dict()["decided"]
    assert [found.make_dict()["options"][0]["on_every_machine"] for found in (still, small, large)] == [True, False, True]
    assert large.format_sentence().startswith("n-mass +50 % [") and " within this boot;" in large.format_sentence()


def test_an_option_that_often_came_too_late_is_not_known(tmp_path: Path) -> None:
    """Its clean runs are those that needed no move: they alone would be 60 % faster."""
    noise = (1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.01, 0.99, 1.0, 1.02)
    lines = [synthetic.observation("cross", policy, k, value=500 * factor * more) for k, more in enumerate(noise)
             for policy, factor in (("none", 1.0), ("maximum-local", 1.6), ("n-mass", 1.3))]
    late, again = (synthetic.observation("cross", "maximum-local", 10, value=500, marks=["pid 5: to run on node 0, runs on CPUs 0-3"]) for _ in "12")
    folder = synthetic.write(tmp_path, [*lines, late, again])
    found = verdict.read_verdict(folder)
    assert found.best and found.best.policy == "n-mass" and list(found.unknown) == ["maximum-local"] and found.make_dict()["decided"]
    no_gain = verdict.judge_options([make_option("daemon", 1.0, 0.002)], 5, None, found.unknown)
    assert no_gain.format_sentence() == "not decided: maximum-local not known within this boot" and not no_gain.make_dict()["decided"]
    assert "maximum-local  not known: 2 of 12 runs do not count (pid 5: to run on node 0" in verdict.format_table(found)


def test_words_and_metric_of_a_program_come_back(tmp_path: Path) -> None:
    file = tmp_path / "program.toml"
    words = ["./solve", "{x}", 'a "b"']
    metric = {"name": "metric", "unit": "1/s", "direction": "higher", "pattern": r"rate: (\d+)"}
    file.write_text(trial_suite.format_workload(words, metric, 0.5, tmp_path), encoding="utf-8")
    suite = suites.parse_suite(trial_suite.format_suite("2x2", ["none", "numa-balancing"], 3, "metric", f"file = {json.dumps(str(file))}"))
    found = suite.workloads[0].options["command"]
    assert [word.replace("{{", "{").replace("}}", "}") for word in found.command] == words
    assert (found.metrics[0].pattern, found.metrics[0].higher, found.warm_up) == (r"rate: (\d+)", True, 0.5)
    assert found.directory == str(tmp_path) and suite.policies == ("none", "numa-balancing")


@pytest.mark.parametrize("words, why", [
    (["--lower", "--", "x"], "--lower is of a metric"),
    (["--metric", "(x)", "--json-metric", "a", "--", "x"], "give one of them"),
    (["--url", "http://x", "--", "x"], "--url is of processes that run"),
    (["--url", "http://x", "1"], "belong together"),
    (["--lower", "1"], "leave the other options out"),
    ([], "what is to be measured"),
    (["--budget", "soon", "--", "x"], "is no time"),
    (["--resume", "--force", "--", "x"], "give one of them"),
    (["--cgroup", "/x", "--", "x"], "CMD, FILE.toml or PID.. and --cgroup: give one of them"),
    (["--cgroup", "/x", "--unit", "x"], "--cgroup and --unit: give one of them"),
    (["--kernel", "6.1", "--", "x"], "--kernel is of the lab: give --lab MACHINE too"),
])
def test_wrong_usage_is_one_line(words: list[str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    nodes = cli.host_nodes.list_lab_nodes("2x2")
    monkeypatch.setattr(cli.host_nodes, "list_nodes", lambda: nodes)
    with pytest.raises(UsageError, match=why):
        cli.carry_out(words)


UNSEEN = {"order": 0, "tasks": [], "marks": [], "check": "ok", "steps": {"start": 0.031, "ps_before": 0.03}}


@pytest.mark.parametrize("record", [UNSEEN, UNSEEN | {"marks": ["x ended with status 0, before it could be looked at: give it more work"], "check": "not reached"}])
def test_a_program_that_is_too_short_is_told_at_the_first_observation(record: dict[str, Any]) -> None:
    with pytest.raises(ExperimentError, match=r"ends within 0.061 s, and an observation under maximum-local needs 0.2 s of it: give it more work, or"):
        target.check_length(["none", "start-interleave", "maximum-local"], record)
    target.check_length(["none", "start-interleave", "start-bind:node=1"], record)
    target.check_length(["none", "maximum-local"], record | {"tasks": [{"role": "program"}], "marks": []})
    target.check_length(["none", "maximum-local"], record | {"order": 1})
    target.check_length(["none", "maximum-local"], record | {"marks": ["x ended with status 1"]})


class Lab:
    """Boots of four blocks. The option daemon is 20 % faster in some and 20 % slower in others, still is as the program is."""

    def __init__(self, budget: int) -> None:
        self.budget, self.asked = budget, []

    def boot(self, args: Any, words: list[str], until: float, sources: str) -> bool:
        """Writes the observations of one more boot in the place of cli.boot_lab(); returns False where the budget is spent."""
        number = len(self.asked)
        if number == self.budget:
            return False
        self.asked.append(words)
        only = words[words.index("--only") + 1].split(",") if "--only" in words else ["none", "daemon", "still"]
        made = [json.loads(line) for line in (args.out / "run/results.jsonl").read_text().splitlines()] if number else []
        new = [synthetic.observation("cross", policy, 4 * number + k, value=500 + k / 10 + 100 * (-1) ** number * (policy == "daemon"), platform="real")
               | {"boot_id": f"boot-{number}"} for k in range(4) for policy in only]
        synthetic.write(args.out / "run", made + new)
        return True


def test_the_lab_is_booted_until_the_answer_is_decided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Three times at least; then with what is undecided between boots, of which the four blocks of one say nothing."""
    monkeypatch.chdir(tmp_path)
    lab = Lab(6)
    monkeypatch.setattr(cli, "boot_lab", lab.boot)
    cli.carry_out(["--lab", "2x2", "--force", "--json", "--", "x", "--resume"])
    assert [words[-3:] for words in lab.asked] == [["--", "x", "--resume"]] * 6 and not any("--force" in words for words in lab.asked)
    assert ["--resume" in words[:words.index("--")] for words in lab.asked] == [False] + [True] * 5
    assert [words[words.index("--only") + 1] if "--only" in words else "" for words in lab.asked] == [""] * 3 + ["none,daemon"] * 3
    found = json.loads(capsys.readouterr().out)
    assert found["ended"] == "the budget is spent" and not found["decided"] and "boot" not in found["sentence"]
    assert {one["placement"]: one["boots"] for one in found["options"]} == {"daemon": 6, "still": 3}


@pytest.mark.parametrize("where", [[], ["--lab", "2x2"]])
def test_results_of_another_program_are_not_thrown_away_unasked(where: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli, "measure_placements", lambda args: "")
    monkeypatch.setattr(cli, "measure_in_lab", lambda args, argv: "")
    monkeypatch.setattr(cli, "print_verdict", lambda args, ended: None)
    folder = synthetic.write(tmp_path / "results/worth/run", [synthetic.observation("cross", "none", 0)])
    with pytest.raises(UsageError, match="results/worth/run holds results already: go on with --resume, throw them away with --force"):
        cli.carry_out([*where, "--", "x"])
    cli.carry_out([*where, "--resume", "--", "x"])
    assert (folder / "results.jsonl").exists()
    cli.carry_out([*where, "--force", "--", "x"])
    assert not (folder / "results.jsonl").exists()


def test_a_folder_that_the_lab_cannot_write_to_is_refused_before_it_boots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(cli, "measure_in_lab", lambda args, argv: pytest.fail("it boots"))
    with pytest.raises(UsageError, match="the lab can write below the current folder only"):
        cli.carry_out(["--lab", "2x2", "--out", str(tmp_path / "there"), "--", "x"])
    assert not (tmp_path / "there").exists()


def test_a_folder_without_results_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli, "measure_placements", lambda args: "")
    monkeypatch.setattr("sys.argv", ["numaplace worth", "--", "x"])
    assert cli.main() == 1 and capsys.readouterr().err.startswith("numaplace worth: results/worth/run/results.jsonl: No such file")


@pytest.mark.parametrize("words, offer", [(["--", "true"], "give --lab 2x2"), (["--unit", "x"], "run the program itself in the lab: --lab 2x2 -- CMD")])
def test_a_machine_of_one_node_is_offered_the_lab(words: list[str], offer: str, tmp_path: Path) -> None:
    done = subprocess.run([HERE.programs / "numaplace", "worth", *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (3, 1) and offer in done.stderr


def run_worth(*words: str | Path, placements: str = "start-interleave,start-bind:node=1") -> dict[str, Any]:
    """Runs numaplace worth in the lab and returns its JSON."""
    done = subprocess.run([HERE.programs / "numaplace", "worth", "--lab", "2x2", "--json", "--out", "results/test-worth", "--force",
                           "--placements", placements, *words],
                          cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert placements.partition(",")[0] in done.stderr  # its progress
    return json.loads(done.stdout)


@pytest.mark.lab
@pytest.mark.full("two runs of many blocks in simulated time")
def test_answers_of_the_lab() -> None:
    """Dependent loads of one thread, beside its memory as it is: half of that on the other node costs, a move of both to
    the other node does not. What stays in the caches does not react."""
    chase = ["--metric", r'"ns_per_operation": *([0-9.]+)', "--lower", "--", HERE.programs / "np-mem", "chase", "--seconds", "0.2",
             "--size"]
    found = run_worth(*chase, "24M")
    by_name = {one["placement"]: one for one in found["options"]}
    assert found["best"] is None and found["sentence"].startswith("nothing is worth it; interleave loses"), found
    assert by_name["start-interleave"]["high"] < 1 and by_name["start-interleave"]["speedup"] < 0.9
    assert abs(by_name["start-bind:node=1"]["speedup"] - 1) < 0.05
    runs = verdict.read_results(ROOT / "results/test-worth/run").select("program", "none")
    shares = [share for run in runs if (share := run.get_value("remote_share")) is not None]  # a run that was late to be looked at has none
    assert shares and sum(shares) / len(shares) < 0.1
    small = run_worth(*chase, "64K")
    assert small["best"] is None and all(abs(one["speedup"] - 1) < 0.02 for one in small["options"]), small


@pytest.mark.lab
@pytest.mark.full("a run of many blocks in simulated time")
def test_a_program_that_is_too_short_for_a_policy_has_a_verdict() -> None:
    """The placement of memory on the other node than the threads that are bound comes too late in 50 ms."""
    found = run_worth("--metric", r'"per_second":([0-9.e+]+)', "--", HERE.programs / "np-mem", "mix", "--size", "8M", "--seconds", "0.05",
                      "--threads", "2", "--mem", "1", "--cpus", "0-1", placements="start-bind:node=0,maximum-local:pages=follow")
    assert found["best"] is None and list(found["not_known"]) == ["maximum-local:pages=follow"], found


@pytest.mark.lab
@pytest.mark.full("a run of many blocks in simulated time")
def test_processes_that_run_are_put_back() -> None:
    """A program on node 0 whose memory is on node 1: either moves to the other, half way is less. Between two placements its
    memory is where it was, and at the end it still runs."""
    out = ROOT / "results/test-running"
    shutil.rmtree(out, ignore_errors=True)
    subprocess.run(build_words("2x2", ["sh", "experiments/commands/worth/tests/running.sh", out]),
                   cwd=ROOT, check=True)
    found = verdict.read_verdict(out / "run")
    assert found.best and found.best.policy == "maximum-local:pages=follow" and found.best.value > 1.2, verdict.format_table(found)
    assert found.remote == pytest.approx(1, abs=0.01)


def test_the_folder_is_made_before_anything_boots(tmp_path: Path) -> None:
    cli.prepare_folder(cli.make_parser().parse_args(["--out", str(tmp_path / "new"), "--", "true"]))
    assert (tmp_path / "new" / "run").is_dir()


def test_the_answer_is_not_that_of_another_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_run(Path("out/run"), [synthetic.observation("cross", p, k, value=500.0 + k) for k in range(3) for p in ("none", "n-mass")])
    Path("out/program.toml").write_text(trial_suite.format_workload(["./a"], {}, 0.02, tmp_path), encoding="utf-8")
    monkeypatch.setattr(cli.stop, "list_next_levels", lambda _folder: [])
    with pytest.raises(UsageError, match="another program"):
        cli.carry_out(["--lab", "2x2", "--resume", "--out", "out", "--", "./b"])


@pytest.mark.parametrize("pattern", ["(", r"(\d+) of (\d+)"])
def test_the_pattern_of_a_page_is_checked_first(pattern: str) -> None:
    args = cli.make_parser().parse_args(["--url", "http://localhost/", "--metric", pattern, "1"])
    with pytest.raises(UsageError, match="--metric"):
        target.find_target(args, [])
