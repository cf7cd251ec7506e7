# SPDX-License-Identifier: GPL-2.0-only
"""numaplace judge without a boot: its table and verdict of known results, the order of boots, what it refuses."""

import json
import random
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from scipy import stats

from experiments import pieces
from experiments.analysis.tests import synthetic
from experiments.commands.judge import blocks, check, cli, side, verdict
from experiments.errors import ExperimentError, UsageError
from experiments.lab.kernels import Kernel
from experiments.paths import HERE
from experiments.runner.boots import boot_shares
from experiments.runner.records import results
from experiments.runner.run import Request
from experiments.runner.run_in_lab import Guest
from experiments.runner.suite import suite as suites

RESPONSES = ("bandwidth", "throughput", "seconds")


def write(folder: Path, seed: int, factors: dict[str, float], without: str = "") -> Path:
    """A run of five boots, each of which scatters by 0.5 %; factors: of a workload's speed."""
    noise = random.Random(seed)
    records = []
    for repeat in range(5):
        for workload, spec in synthetic.WORKLOADS.items():
            if workload == without:
                continue
            speed = factors.get(workload, 1.0) * noise.gauss(1, 0.005)
            record = synthetic.observation(workload, "none", repeat, boot_id=f"{folder.name}-{repeat}", platform="lab-timed")
            known = {n: v for n, _, v in spec["metrics"]}
            for metric in record["metrics"]:
                if metric["name"] in known:
                    metric["value"] = known[metric["name"]] * (speed if metric["unit"].endswith("/s") else 1 / speed)
            records.append(record)
    return synthetic.write(folder, records, synthetic.TIMED)


def judged(tmp_path: Path, factors: dict[str, float], smallest: float = 0.01, without: str = "", exclude: float = 0.05) -> verdict.Verdict:
    return verdict.compare_kernels(write(tmp_path / "a", 1, {}), write(tmp_path / "b", 2, factors, without), RESPONSES, smallest, exclude)


def words(found: verdict.Verdict) -> dict[tuple[str, str], str]:
    return {(row["workload"], row["metric"]): row["verdict"] for row in found.rows}


def test_what_is_slower_by_5_percent_is_named_and_nothing_else(tmp_path: Path) -> None:
    found = judged(tmp_path, {"cross": 0.95, "contention-2L2R": 1.05})
    told = words(found)
    assert told["cross", "bandwidth"] == verdict.SLOWER and told["contention-2L2R", "bandwidth"] == verdict.FASTER
    assert told["contention-1L1R", "bandwidth"] in (verdict.SAME, verdict.SMALL)
    assert found.regressed and re.fullmatch(
        r"cross -[45]\.\d %: kernel B is slower than kernel A; contention-2L2R \+[45]\.\d %: kernel B is faster than kernel A",
        found.make_sentence())


def test_of_a_time_more_is_slower_and_of_a_throughput_less(tmp_path: Path) -> None:
    told = words(judged(tmp_path, {"redis-lists": 0.95}))
    assert (told["redis-lists", "seconds"], told["redis-lists", "throughput"]) == (verdict.SLOWER, verdict.SLOWER)


def test_of_one_kernel_nothing_is_found(tmp_path: Path) -> None:
    found = judged(tmp_path, {})
    assert not found.regressed and found.excluded and found.make_sentence() == "no regression found"


def test_what_may_be_slower_is_not_excluded(tmp_path: Path) -> None:
    """By the slow side of its interval, which is the low one of a rate and the high one of a time."""
    found = judged(tmp_path, {"redis-lists": 0.99, "cross": 1.05}, exclude=0.012)
    rows = {(row["workload"], row["metric"]): row for row in found.rows}
    rate, time = rows["redis-lists", "throughput"], rows["redis-lists", "seconds"]
    assert rate["slower_at_most"] == 1 - rate["ratio_ci95_low"] > 0.012 and time["slower_at_most"] == time["ratio_ci95_high"] - 1
    assert rate["verdict"] == verdict.NOT_EXCLUDED and not found.regressed and not found.excluded
    assert rows["cross", "bandwidth"]["slower_at_most"] < 0 and rows["cross", "bandwidth"]["verdict"] == verdict.FASTER
    assert re.search(r"^no regression found; .*not excluded: .*redis-lists slower by at most 2\.\d %", found.make_sentence())
    assert judged(tmp_path / "5", {"redis-lists": 0.99}).excluded


def test_the_smallest_change_is_what_nine_of_ten_judgements_find(tmp_path: Path) -> None:
    """Drawn differences of a change of that size, tested at the level of the first of four rows, as often as that."""
    drawn, n, tests, error = random.Random(1), 8, 4, 1 / 8 ** 0.5
    row = {"df": n - 1, "mean_a": 100.0, "difference": 0.3, "ci95_high": 0.3 + error * float(stats.t.ppf(0.975, n - 1))}
    change = 100 * verdict.compute_found_from(row, tests)
    p = [stats.ttest_1samp([drawn.gauss(change, 1) for _ in range(n)], 0).pvalue for _ in range(1000)]
    assert 0.86 < sum(one < 0.05 / tests for one in p) / len(p) < 0.94
    assert verdict.compute_found_from(row | {"df": None}, tests) is None
    found = judged(tmp_path, {})
    assert all(0.005 < row["found_from"] < 0.04 for row in found.rows if row["p_holm"] is not None)


def test_a_change_below_smallest_is_too_small(tmp_path: Path) -> None:
    assert words(judged(tmp_path / "1", {"cross": 0.95}, smallest=0.2))["cross", "bandwidth"] == verdict.SMALL
    assert words(judged(tmp_path / "2", {"cross": 0.95}, smallest=0.02))["cross", "bandwidth"] == verdict.SLOWER


def test_a_workload_that_kernel_b_cannot_run_is_a_regression(tmp_path: Path) -> None:
    found = judged(tmp_path, {}, without="cross")
    assert found.regressed and "cross / none / bandwidth: kernel B has no result" in found.make_sentence()


def test_the_table_can_be_mailed(tmp_path: Path) -> None:
    text = verdict.format_mail([("kernel A", "6.12.1-a-very-long-local-version-" + "x" * 60), ("kernel B", "6.1\u2013\u00e9\033[31m")],
                               judged(tmp_path, {"cross": 0.95}))
    assert text.isascii() and text.replace("\n", "").isprintable()
    assert max(map(len, text.split("\n"))) <= verdict.WIDTH
    row, below = next((line, after) for line, after in zip(text.split("\n"), text.split("\n")[1:]) if line.startswith("cross"))
    assert re.fullmatch(r"cross +\d+(\.\d+)? +\d+(\.\d+)?  -[45]\.\d % \[-[456]\.\d, -[345]\.\d\] +(<0\.001|0\.0\d\d)", row), row
    assert re.fullmatch(r"  none, bandwidth, MB/s +slower", below), below
    assert re.search(r"^  found 9 of 10 times from \d\.\d %; slower by at most [456]\.\d %$", text, re.M)
    assert text.split("\n")[-1].endswith(".") and "Verdict: cross -" in text


def test_a_metric_that_never_varies_has_no_smallest_change(tmp_path: Path) -> None:
    """As of pages moved, of which each boot has as many."""
    found = verdict.compare_kernels(write(tmp_path / "a", 1, {}), write(tmp_path / "b", 2, {}), ("locality_before",), 0.01, 0.05)
    assert found.rows and all(row["found_from"] is None for row in found.rows)
    text = verdict.format_table(found)
    assert "9 of 10" not in text and text.count("slower without a bound") == len(found.rows)


def test_a_long_name_keeps_the_columns() -> None:
    row = {"workload": "w" * 90, "policy": "p" * 90, "metric": "m", "unit": "s", "mean_a": 1.5e9, "mean_b": 1e-6, "ratio": 50.0,
           "ratio_ci95_low": 1.0, "ratio_ci95_high": 99.0, "p_holm": 1e-9, "found_from": 99.0, "slower_at_most": 98.0, "verdict": verdict.SLOWER}
    assert max(map(len, verdict.format_table(verdict.Verdict([row])).split("\n"))) <= verdict.WIDTH


def test_boots_are_in_abba_order() -> None:
    assert blocks.order_boots(4) == [(0, 0), (0, 1), (1, 1), (1, 0), (2, 0), (2, 1), (3, 1), (3, 0)]


def arguments(*more: str) -> list[str]:
    return ["--kernel", "6.12", "--kernel", "6.12", *more]


def test_a_boot_that_was_interrupted_is_made_anew(tmp_path: Path) -> None:
    """The analysis pairs boots: two halves of one would move all that follow."""
    args = cli.make_parser().parse_args(arguments("--boots", "3", "--workloads", "fault,fork"))
    request, _ = cli.plan_run(args, tmp_path)
    warm_ups = [{"workload": "fork", "policy": "none", "repeat": 0, "metrics": [], "marks": [], "warmup": True, "boot_id": boot}
                for boot in (0, 1)]
    synthetic.write(tmp_path, warm_ups + [{"workload": w, "policy": "none", "repeat": repeat, "metrics": [], "marks": [], "boot_id": repeat}
                                          for repeat, w in ((0, "fault"), (0, "fork"), (1, "fork"))])
    one = side.Side("a", "6.12", "", tmp_path, None)
    blocks.forget_unfinished(one, boot_shares.divide_repeats(request.suite, 3))
    assert [(r["boot_id"], r["workload"]) for r in results.read_records(tmp_path)] == [(0, "fork"), (0, "fault"), (0, "fork")]
    blocks.forget_unfinished(one, boot_shares.divide_repeats(request.suite, 3))
    assert results.count_records(tmp_path) == 3


def test_both_guests_are_told_the_same_run(tmp_path: Path) -> None:
    args = cli.make_parser().parse_args(arguments("--boots", "4", "--repeats", "8", "--seed", "7", "--placements", "none,tiering:a=1,b=2"))
    request, told = cli.plan_run(args, tmp_path)
    assert (request.suite.name, request.suite.repeats, request.boots, request.suite.seed) == ("kernel-mm", 8, 4, 7)
    assert request.suite.policies == ("none", "tiering:a=1,b=2")
    assert told[:2] == ["run", "kernel-mm"] and "--resume" not in told and told[told.index("--repeats") + 1] == "8"


@pytest.mark.parametrize("more, why", [
    (["--kernel", "6.1"], "--kernel is given 1 times"),
    (["--kernel", "6.1"] * 3, "given 3 times"),
    (arguments("--boots", "1"), "has no interval"),
    (arguments("--resume", "--force"), "give one of them"),
    (["--kernel", "6.12", "--kernel", "5.99"], "no kernel series '5.99'"),
    (["--kernel", "6.12", "--kernel", "./bzImage"], "cannot be read"),
    (arguments("no-such-suite"), "does not exist"),
    (arguments("--boots", "5", "--repeats", "3"), "each boot makes one of them at least"),
])
def test_wrong_usage_is_one_line(more: list[str], why: str, tmp_path: Path) -> None:
    done = subprocess.run([HERE.programs / "numaplace", "judge", *more], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n"), done.stdout) == (2, 1, "") and why in done.stderr, done.stderr
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("spec, words", [
    ("a/bzImage,b/6.12.1", ("--kernel-image", Path("a/bzImage"), "--modules", Path("b/6.12.1"))),
    ("a/bzImage", ("--kernel-image", Path("a/bzImage"))),
    ("6.12", ("--kernel", "6.12")),
])
def test_the_lab_boots_the_kernel_that_was_given(spec: str, words: tuple, tmp_path: Path) -> None:
    series = "own-0123" if "/" in spec else spec
    guest = side.Side("b", spec, "sysctl x=1; true", tmp_path, Kernel(series, "6.12.1", tmp_path)).guest
    assert tuple(guest.kernel) == words
    done = subprocess.run(list(map(str, Guest(setup="echo set; cd /; x=y").list_words(["sh", "-c", "pwd; echo $x$1", "sh", "a b"]))),
                          cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == f"set\n{tmp_path}\na b\n", "the set-up leaves the machine changed, not the shell of the run"


def test_results_of_another_kernel_or_set_up_are_not_gone_on_with(tmp_path: Path) -> None:
    first, second = (side.find_side("a", "6.12", setup, tmp_path) for setup in ("", "true"))
    first.keep_description(resume=False, force=False)
    write(tmp_path, 1, {})
    with pytest.raises(UsageError, match="holds results already"):
        first.keep_description(resume=False, force=False)
    with pytest.raises(UsageError, match="another kernel or set-up"):
        second.keep_description(resume=True, force=False)
    first.keep_description(resume=True, force=False)
    assert results.count_records(tmp_path)
    second.keep_description(resume=False, force=True)
    assert not results.count_records(tmp_path) and json.loads((tmp_path / side.NAME).read_text())["setup"] == "true"


@pytest.mark.parametrize("factors, more, status", [
    ({}, (), 0), ({"cross": 0.9}, (), 4), ({}, ("--exclude", "1.2"), 5), ({"cross": 0.9}, ("--exclude", "1.2"), 4)])
def test_the_status_tells_what_is_not_excluded_from_what_is_not_there(factors: dict[str, float], more: tuple[str, ...], status: int, tmp_path: Path,
                                                                     monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    request = SimpleNamespace(suite=SimpleNamespace(responses=RESPONSES, name="x", repeats=5, seed=1), boots=5)
    monkeypatch.setattr(cli, "measure_sides", lambda *_: request)
    monkeypatch.setattr(side.Side, "describe_side", lambda _: {"release": "6.12.1", "setup": ""})
    write(tmp_path / "a", 1, {})
    write(tmp_path / "b", 2, factors)
    assert cli.carry_out(arguments("--out", str(tmp_path), *more)) == status
    assert ("not excluded:" in capsys.readouterr().out) == ("--exclude" in more)


NAMES = [workload.name for workload in suites.load_suite("kernel-mm").workloads]
SPREAD = {"fault": 0.008, "fork": 0.012, "huge-fault": 0.01, "map": 0.032, "move": 0.013}  # between boots, measured


def pools(blocks: int, slower: float, spread: dict[str, float] = SPREAD) -> check.Pools:
    """Boots of kernel-mm; `slower`: with the module, as 0.05."""
    noise = random.Random(1)
    metrics = dict(zip(NAMES, suites.load_suite("kernel-mm").responses, strict=True))

    def boot(pool: str, block: int) -> check.Records:
        return [{"workload": name, "policy": "none", "repeat": 0, "platform": "lab-timed", "boot_id": f"{pool}-{block}", "marks": [], "check": "ok",
                 "order": 0, "started": f"2026-01-01T00:{block:02}:00+00:00", "metrics": [
                     {"name": metrics[name], "unit": "us", "value": noise.gauss(100, 100 * spread[name]) * (1 + slower * (pool == "slow"))}]}
                for name in NAMES]
    return {pool: {block: boot(pool, block) for block in range(1, blocks + 1)} for pool in check.POOLS}


def test_a_composed_judgement_has_the_fault_in_one_workload_alone() -> None:
    blocks = [(block, block % 3 > 0) for block in range(1, 9)]
    found = check.judge_drawn(pools(8, 0.3), blocks, "move")
    assert {row["workload"]: row["verdict"] == verdict.SLOWER for row in found.rows} == {name: name == "move" for name in NAMES}
    assert all(row["blocks"] == 8 for row in found.rows)
    assert not check.judge_drawn(pools(8, 0.3), blocks, None).regressed


def test_a_judgement_has_no_block_twice_and_each_another_choice() -> None:
    drawn = check.draw_blocks(pools(24, 0), 8)
    assert all(len({block for block, _ in one}) == 8 and one == sorted(one) for one in drawn)
    assert 60 < sum(straight for one in drawn for _, straight in one) < 100
    assert len(set(map(tuple, drawn))) == len(drawn) == 20 and drawn == check.draw_blocks(pools(24, 0), 8)


def test_check_tells_each_workload_and_ends_by_what_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With five judgements, as each takes a tenth of a second."""
    monkeypatch.setattr(check, "JUDGEMENTS", 5)
    text, right = check.summarise(pools(16, 0.05, SPREAD | {"map": 0.2}), NAMES)
    assert right, text
    assert re.search(r"^   8 boots  fault       slower found in 5 of 5 \(Wilson 57 to 100 %\); smallest change found 9 of 10 times: [12]\.\d %$", text, re.M)
    assert re.search(r"^   8 boots  map .* 0 of 5 .*\n  16 boots  map ", text, re.M), "what 16 give"
    assert re.search(r"^   8 boots  a kernel beside itself: a difference found in [01] of 5", text, re.M)
    text, right = check.summarise(pools(8, 0.0), NAMES)
    assert not right and len(re.findall("MISSED$", text, re.M)) == len(check.CLAIMED)


def test_what_check_claims_the_page_claims() -> None:
    page = (HERE.code / "Documentation/how-to/judge.md").read_text(encoding="utf-8")
    assert f"{', '.join(f'`{name}`' for name in check.CLAIMED[:-1])} and `{check.CLAIMED[-1]}`" in page


def test_a_boot_is_made_once_for_the_same_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def run(request: Request, _machine: str, guest: Guest, words: list[str], functional: bool) -> None:
        made.append(request.out.name)
        assert not functional and "--no-snapshot" in guest.kernel and words[words.index("--seed") + 1] == str(int(made[-1][-2:]))
        assert guest.setup == check.POOLS[made[-1][:-3]]
        results.rewrite_records(request.out, pools(1, 0)["a"][1])
        raise ExperimentError("1 observation is marked")
    monkeypatch.setattr(check.run_in_lab, "run_in_guest", run)
    monkeypatch.setattr(check.side, "find_side", lambda letter, spec, setup, out: (out.mkdir(), side.Side(
        letter, spec, setup, out, Kernel("6.12", "6.12.1", tmp_path)))[1])
    monkeypatch.setattr(check.Boot, "digest", "now")
    assert check.make_boots(tmp_path, 2, 0)["a"] == {} and not made, "no boot begins after the time"
    assert sorted(check.make_boots(tmp_path, 2, 60)["slow"]) == [1, 2]
    assert made == ["a-01", "b-01", "slow-01", "slow-02", "b-02", "a-02"]
    check.make_boots(tmp_path, 2, 60)
    assert len(made) == 6
    monkeypatch.setattr(check.Boot, "digest", "later")
    assert check.carry_out(tmp_path, 2, 0) == check.UNFINISHED, "kept boots of other code count for nothing"


def test_a_boot_s_digest_is_of_its_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len({check.Boot(pool, block).digest for pool in ("a", "slow") for block in (1, 2)}) == 4
    assert all(pieces.git(HERE.code, "ls-files", "--", path) for path in check.INPUTS)
    before = check.Boot("slow", 1).digest
    monkeypatch.setattr(check, "SERIES", "7")
    assert check.Boot("slow", 1).digest != before


def test_whole_boots_of_a_repeat_are_kept(tmp_path: Path) -> None:
    args = cli.make_parser().parse_args(arguments("--boots", "4", "--repeats", "2", "--workloads", "fault,fork"))
    request, _ = cli.plan_run(args, tmp_path)
    synthetic.write(tmp_path, [{"workload": "fault", "policy": "none", "repeat": 0, "metrics": [], "marks": []}])
    blocks.forget_unfinished(side.Side("a", "6.12", "", tmp_path, None), boot_shares.divide_repeats(request.suite, 4))
    assert results.count_records(tmp_path) == 1
