# SPDX-License-Identifier: GPL-2.0-only
"""Reading results, what is averaged and what is not, summary.json, the terminal, the comparison."""

import csv
import io
import json
import math
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from experiments.analysis.figures import figures
from experiments.analysis.pages import placement_table, summary, terminal
from experiments.analysis.papers import reference
from experiments.analysis.policies.speedup import decide_cells
from experiments.analysis.runs import text_format
from experiments.analysis.runs.results import ResultsError, make_natural_key, rank_policy, read_results
from experiments.analysis.stats.intervals import Interval
from experiments.analysis.tests import synthetic
from experiments.commands.experiment import cli
from experiments.runner.tests.test_runner_observe_static import CACHETEST, SUITE

ROOT = Path(__file__).parents[3]
KEYS = ["workload", "policy", "metric", "unit", "mean", "ci95_low", "ci95_high", "n", "platform"]


def rows(directory: Path) -> dict[tuple[str, str, str], dict]:
    data = json.loads(summary.write_summary(directory).read_text())
    return {(r["workload"], r["policy"], r["metric"]): r for r in data["rows"]}


def three(tmp_path: Path, *extra: dict, tail: str = "") -> Path:
    """Bandwidths 8, 10, 12 and whatever is added."""
    records = [synthetic.observation("cross", "none", i, value=v) for i, v in enumerate((8.0, 10.0, 12.0), 1)]
    return synthetic.write(tmp_path / "three", [*records, *extra], tail=tail)


def test_summary_rows_by_hand(tmp_path: Path) -> None:
    found = rows(three(tmp_path))
    row = found["cross", "none", "bandwidth"]
    assert list(row) == KEYS
    half = 4.302653 * 2 / math.sqrt(3)  # t(0.975, 2) = 4.302653, s = 2, n = 3
    assert (row["mean"], row["n"], row["unit"], row["platform"]) == (10, 3, "MB/s", "lab-functional")
    assert row["ci95_low"] == pytest.approx(10 - half, abs=1e-6)
    assert row["ci95_high"] == pytest.approx(10 + half, abs=1e-6)
    assert found["cross", "none", "locality_after"]["mean"] == 0


def test_summary_head(results: Path) -> None:
    data = json.loads(summary.write_summary(results).read_text())
    assert (data["suite"], data["platform"], data["machine"]) == ("policy-matrix", "lab-functional", "demo-2s")
    assert data["created"].endswith("+00:00")
    assert "4 warm-ups not averaged" in data["notes"]
    assert "1 marked observation not averaged" in data["notes"]
    assert not list(results.glob("*.partial"))


@pytest.mark.parametrize(
    "spoilt",
    [{"marks": ["page off its node"]}, {"warmup": True}, {"check": "digest differs"}],
    ids=["marked", "warm-up", "check failed"],
)
def test_spoilt_observations_are_never_averaged(tmp_path: Path, spoilt: dict) -> None:
    odd = synthetic.observation("cross", "none", 4, value=1e6, **spoilt)
    row = rows(three(tmp_path, odd))["cross", "none", "bandwidth"]
    assert (row["mean"], row["n"]) == (10, 3)


def test_one_observation_has_null_limits(tmp_path: Path) -> None:
    directory = synthetic.write(tmp_path / "one", [synthetic.observation("cross", "none", 1)])
    data = json.loads(summary.write_summary(directory).read_text())
    assert all(r["ci95_low"] is None and r["ci95_high"] is None and r["n"] == 1 for r in data["rows"])
    assert "a mean of one observation has no confidence interval" in data["notes"]


def test_platforms_are_never_mixed(tmp_path: Path) -> None:
    other = [synthetic.observation("cross", "none", i, value=500.0, platform="lab-timed") for i in (1, 2)]
    data = json.loads(summary.write_summary(three(tmp_path, *other)).read_text())
    found = [(r["platform"], r["mean"], r["n"]) for r in data["rows"] if r["metric"] == "bandwidth"]
    assert found == [("lab-functional", 10, 3), ("lab-timed", 500, 2)]


@pytest.mark.parametrize(("machine", "platform", "named"), [
    ("demo-2s/16", "lab-timed", "lab-timed, 1/16 speed"),
    ("demo-2s", "lab-timed", "lab-timed"),
    ("demo-2s/16", "lab-functional", "lab-functional"),
])
def test_a_scaled_machine_s_platform_has_its_speed(tmp_path: Path, machine: str, platform: str, named: str) -> None:
    records = [record | {"platform": platform} for record in synthetic.make_full(2)]
    found = read_results(synthetic.write(tmp_path, records, synthetic.MANIFEST | {"machine": machine, "platform": platform}))
    assert found.platform_line.startswith(f"{named}: ")


@pytest.mark.parametrize("tail", ['{"suite": "policy-ma', '{"suite"', "5"])
def test_cut_off_last_line_is_reported_and_skipped(tmp_path: Path, tail: str) -> None:
    directory = three(tmp_path, tail=tail)
    results = read_results(directory)
    assert len(results.clean) == 3
    assert results.notices == ("results.jsonl line 4 is cut off (the run was killed): skipped",)


def test_finished_last_line_without_newline_counts(tmp_path: Path) -> None:
    last = json.dumps(synthetic.observation("cross", "none", 4, value=10.0))
    assert len(read_results(three(tmp_path, tail=last)).clean) == 4


def test_repeated_observation_counts_once(tmp_path: Path) -> None:
    directory = three(tmp_path, synthetic.observation("cross", "none", 3, value=15.0))
    row = rows(directory)["cross", "none", "bandwidth"]
    assert (row["mean"], row["n"]) == (11, 3)
    assert any("more than once" in note for note in read_results(directory).notices)


def test_unknown_fields_are_fine(tmp_path: Path) -> None:
    extra = synthetic.observation("cross", "none", 4, value=10.0, weather={"wind": [1, None]})
    assert len(read_results(three(tmp_path, extra)).clean) == 4


def _bad(tmp_path: Path, **changes: object) -> Path:
    return three(
        tmp_path,
        synthetic.observation("cross", "none", 4) | changes,
        synthetic.observation("cross", "none", 5),
    )


@pytest.mark.parametrize(
    ("changes", "words_in_error"),
    [
        ({"workload": None}, "line 4: 'workload' is missing"),
        ({"repeat": True}, "line 4: 'repeat' is missing"),
        ({"order": "x"}, "line 4: 'order' is missing or no int"),
        ({"tasks": 5}, "line 4: 'tasks' is missing or no list"),
        ({"platform": "dreamt"}, "line 4: platform 'dreamt' is not one of"),
        ({"metrics": [{"name": "x", "unit": "s"}]}, "line 4: a metric without"),
        ({"metrics": [{"name": "x", "unit": "s", "value": float("nan")}]}, "line 4: metric 'x' is nan"),
        ({"metrics": [{"name": "x", "unit": "s", "value": "fast"}]}, "line 4: metric 'x' is 'fast'"),
    ],
)
def test_bad_record_is_one_clear_line(tmp_path: Path, changes: dict, words_in_error: str) -> None:
    with pytest.raises(ResultsError, match=words_in_error) as caught:
        read_results(_bad(tmp_path, **changes))
    assert "\n" not in str(caught.value)


def test_broken_line_in_the_middle_is_refused(tmp_path: Path) -> None:
    directory = three(tmp_path)
    path = directory / "results.jsonl"
    path.write_text('{"suite"\n' + path.read_text())
    with pytest.raises(ResultsError, match="line 1: not a JSON object"):
        read_results(directory)


@pytest.mark.parametrize("content", [None, "", '{"broken'])
def test_nothing_to_read_is_one_clear_line(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "results.jsonl").write_text(content)
    with pytest.raises(ResultsError, match="run the experiment first"):
        read_results(tmp_path)


def test_missing_manifest_is_said(tmp_path: Path) -> None:
    directory = three(tmp_path)
    (directory / "manifest.json").write_text('{"kernel": "6.12"}')
    with pytest.raises(ResultsError, match="'kernel' is not a JSON object"):
        read_results(directory)
    (directory / "manifest.json").unlink()
    assert "manifest.json is missing" in read_results(directory).notices[0]


def test_early_failure_takes_the_platform_of_its_run(tmp_path: Path) -> None:
    """The runner writes such a line when a task dies before it was looked at."""
    failed = synthetic.observation(
        "cross", "none", 4, platform="", metrics=[], tasks=[], apply=None, check="not reached"
    )
    results = read_results(three(tmp_path, failed | {"marks": ["task left vanished"]}))
    assert len(results.clean) == 3
    assert results.measured[-1].marks == ("task left vanished",)
    assert results.platforms == ["lab-functional"]


def test_manifest_orders_workloads_and_policies(tmp_path: Path) -> None:
    manifest = synthetic.MANIFEST | {
        "workloads": {"redis-lists": "three lists", "cross": "a pair"},
        "policies": ["n-mass", "none"],
    }
    records = [
        synthetic.observation(w, p, 1)
        for w in ("contention-1L1R", "cross", "redis-lists")
        for p in ("maximum-local", "none", "n-mass")
    ]
    results = read_results(synthetic.write(tmp_path / "r", records, manifest))
    assert results.workloads == ["redis-lists", "cross", "contention-1L1R"]
    assert results.policies == ["n-mass", "none", "maximum-local"]
    assert results.about("redis-lists") == "three lists"
    order = list(dict.fromkeys(r["workload"] for r in summary.make_rows(results)))
    assert order == results.workloads


def test_numbers_in_names_are_in_their_order() -> None:
    assert sorted(["w10", "w2", "w1"], key=make_natural_key) == ["w1", "w2", "w10"]


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        (Interval(12.345, 12.3, 12.39, 3), "12.345 ± 0.045"),
        (Interval(1116.4, 1019, 1213.8, 3), "1\u202f116 ± 97"),
        (Interval(5.0, None, None, 1), "5.000"),
        (Interval(5.0, 5.0, 5.0, 3), "5.000"),
        (Interval(838683554.0, 793628749.0, 883738359.0, 3), "839 ± 45 M"),
        (Interval(20145678.0, None, None, 1), "20.15 M"),
    ],
)
def test_spread_in_words(interval: Interval, text: str) -> None:
    assert text_format.format_spread(interval) == text


def test_a_policy_stands_beside_itself_with_other_options() -> None:
    names = ["n-mass:pages=stay", "carrefour:gate=15", "none", "maximum-local:pages=stay", "maximum-local:pages=follow"]
    assert sorted(names, key=rank_policy) == [
        "none", "carrefour:gate=15", "maximum-local:pages=follow", "maximum-local:pages=stay", "n-mass:pages=stay"]
    assert str(terminal.format_options_below("n-mass:pages=stay,relief=0.2")) == "n-mass\n  pages=stay\n  relief=0.2"
    assert str(terminal.format_options_below("none")) == "none"


def test_locality_is_never_rounded_up() -> None:
    assert [text_format.format_fraction(v) for v in (0.999, 1.0, 0.0, 0.57, None)] == [
        "0.99",
        "1.00",
        "0.00",
        "0.57",
        "–",
    ]


def shown(directory: Path) -> str:
    with redirect_stdout(io.StringIO()) as out:
        placement_table.show_run(read_results(directory))
    return out.getvalue()


def test_table_fits_80_columns_and_says_what_it_is(results: Path) -> None:
    text = shown(results)
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    last = " ".join(text.split("lab-functional:")[-1].split())
    assert last == ("times come from plain QEMU, which has no NUMA timing: functional, not performance")
    for workload in synthetic.WORKLOADS:
        assert workload in text


def test_table_numbers(tmp_path: Path) -> None:
    better = [synthetic.observation("cross", "maximum-local", i, value=v) for i, v in enumerate((10.0, 12.5, 15.0), 1)]
    folder = three(tmp_path, *better)
    none, local = policy_lines(shown(folder))
    assert none.split()[-3:] == ["0.00->0.00", "10.00", "0"] and local.split()[-3:] == ["0.00->1.00", "12.50", "0"]

    for file in folder.iterdir():  # times that mean something are compared, in the terminal as everywhere
        file.write_text(file.read_text().replace("lab-functional", "lab-timed"))
    text = shown(folder)
    none, local = policy_lines(text)
    found = decide_cells(read_results(folder))["cross", "maximum-local"]
    assert f"{found.ratio} {found.mark} " in " ".join(local.split()) and found.format_limits() in text
    assert found.value == pytest.approx(1.25)
    assert "of 3 repeats within one boot" in " ".join(text.split())


def test_long_numbers_leave_policies_whole(tmp_path: Path) -> None:
    policies = ("none", "start-interleave", "daemon:interval_ms=200,trial_ms=0")
    lines = [synthetic.observation("cross", policy, i, value=8428919.0 + 2814 * i) for policy in policies for i in range(3)]
    for line in lines:
        line["metrics"][0] |= {"name": "operations", "unit": "operations/s"}
    text = shown(synthetic.write(tmp_path, lines))
    assert max(map(len, text.splitlines())) <= 80
    for name in ("start-interleave", "interval_ms=200", "8431733", "operations/s"):
        assert name in text, text


def policy_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if "->" in line and "locality" not in line]


def test_table_of_only_marked_observations(tmp_path: Path) -> None:
    bad = synthetic.observation("cross", "n-mass", 1, marks=["x"])
    text = " ".join(shown(three(tmp_path, bad)).split())
    assert "n-mass 1 marked" in text and "marked: cross / n-mass: x" in text


def test_command_report(results: Path) -> None:
    done = synthetic.run_command("report", results)
    assert done.returncode == 0, done.stderr
    assert {p.name for p in results.iterdir()} == {
        "manifest.json",
        "results.jsonl",
        "summary.json",
        "report.html",
        "figures",
    }
    assert done.stdout.splitlines()[-1] == str(results / "report.html")


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("report", "/nonexistent"), 1),
        (("compare", "/nonexistent", "/nonexistent"), 1),
        (("report",), 2),
        (("sing",), 2),
    ],
)
def test_command_errors(arguments: tuple[str, ...], status: int) -> None:
    done = synthetic.run_command(*arguments)
    assert done.returncode == status
    assert "Traceback" not in done.stderr
    if status == 1:
        assert done.stderr.count("\n") == 1


def test_reference_tables_are_whole() -> None:
    """Every file is listed in the index, rectangular, and numeric where it says so."""
    folder = ROOT / "experiments/reference"
    index = (folder / "README.md").read_text()
    files = sorted(folder.glob("*.csv"))
    assert len(files) == 6
    for path in files:
        assert f"`{path.name}`" in index
        lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
        head, *body = csv.reader(lines)
        assert body and all(len(row) == len(head) for row in body), path.name
    assert [max(reference.read_luo(name).values()) for name in ("e5620", "ls3a")] == [1.260403052, 1.480886933]


def test_a_run_that_ends_before_it_is_precise_names_the_cells(tmp_path: Path, capsys) -> None:
    suite, out = tmp_path / "small.toml", tmp_path / "out"
    suite.write_text(SUITE.format(design="cachetest", repeats=2, factors=CACHETEST.replace("64, 128", "64")).replace("warmups = 1", "warmups = 0"))
    assert cli.main(["run", str(suite), "--out", str(out), "--repeat-until-ci", "0.000001%", "--max-repeats", "3"]) == 0
    told = "the precision of 1e-06 % was not reached in 1 cells: uniform-64K-local / none"
    assert f"small: {told}" in capsys.readouterr().out.splitlines()
    assert told in summary.list_notes(read_results(out)) and summary.NARROW in summary.list_notes(read_results(out))


def test_the_legend_of_many_nodes_is_inside_the_figure() -> None:
    axes = Figure().subplots()
    figures._draw_legend(axes, [figures.TaskState("a", "before", 0, (), dict.fromkeys(range(8), 1.0))])
    nodes = [text for text in axes.texts if text.get_text().startswith("node ")]
    assert len(nodes) == 8 and max(text.get_position()[0] for text in nodes) < 0.9
