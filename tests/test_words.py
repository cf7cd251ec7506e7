# SPDX-License-Identifier: GPL-2.0-only
"""External words that CHANGELOG.md calls deprecated stand only where they are accepted, and where that is tested."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EVERYWHERE = {"CHANGELOG.md", "tests/test_words.py"}
PLATFORM = {"userspace/lib/host/topology.c", "userspace/tests/host/machine.c", "userspace/tests/files/snapshot.c",
            "userspace/tests/cmd/test_userspace.py", "experiments/analysis/results.py",
            "experiments/analysis/tests/test_analysis_data.py"}
WHERE = {"userspace/cmd/cmd_measure_penalty.c", "userspace/cmd/cmd_topology.c", "userspace/lib/files/snapshot.c",
         "userspace/lib/files/snapshot_read.c", "userspace/lib/plan/request_print.c", "userspace/lib/predict/report.c",
         "userspace/tests/files/snapshot.c", "userspace/tests/cmd/test_predict.py",
         "userspace/tests/cmd/test_userspace.py", "userspace/tests/cmd/golden/predict.json",
         "userspace/tests/plan/golden/applied.json", "userspace/tests/plan/golden/plan.json"}
OPTIONS = {"experiments/lab/cli.py", "experiments/lab/tests/test_run.py", "experiments/runner/cli.py",
           "experiments/runner/tests/test_runner_observe_static.py"}
METRICS = {"userspace/lib/daemon/metrics.c", "userspace/tests/daemon/test_daemon.py",
           "Documentation/measured/daemon-metrics.txt"}
COMMANDS = {"userspace/cmd/numaplace.c", "userspace/tests/cmd/test_userspace.py"}
FORMER = {  # the word: files with its alias
    r"lab-(plain|simulated)\b": PLATFORM,
    r"""['"\[]where\\?['"](\]| ?[:,] (np_platform|['"](real|lab|simulated)))|"platform" : "where\"""": WHERE,
    r"numaplace_lab=[^ ]*,(plain|simulated)\b": set(),
    r"(?<![\w-])--(plain|simulated)\b": OPTIONS,
    r"numaplace\"? simulate\b|`simulate\b|\"simulate\"|\bcmd_simulate\b": COMMANDS,
    r"numaplace\"? calibrate(?!\\?-)\b|\"calibrate\", (\"--|\"measure)|\bcmd_calibrate\b": COMMANDS,
    r"(?<![a-z])count(ing|ed)_(tasks|rounds|cpu_seconds)": METRICS,
    r"\b(np_where|NP_WHERE|np_source|NP_SOURCE)(_\w+)?\b|\bnp_machine_where\b": set(),
    r"did not come by": set(),
}


def tracked(top: Path) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=top, capture_output=True, text=True, check=True).stdout
    return [top / name for name in listed.split("\0") if name and (top / name).is_file()]


def found(word: str, files: list[Path], top: Path) -> set[str]:
    """Of text files only."""
    pattern = re.compile(word.encode())
    return {str(file.relative_to(top)) for file in files
            if b"\0" not in (text := file.read_bytes()) and pattern.search(text)}


@pytest.mark.parametrize("word", FORMER)
def test_a_deprecated_word_stands_with_its_alias_alone(word: str) -> None:
    assert found(word, tracked(ROOT), ROOT) - EVERYWHERE == FORMER[word]


@pytest.mark.parametrize(("word", "line"), list(zip(FORMER, [
    "| `lab-plain` |", '"where": "real"', "numaplace_lab=demo-2s,plain", "lab run --plain --", "numaplace simulate -p x",
    "$ numaplace calibrate --task x", "numaplace_daemon_counting_tasks 4", "enum np_source s;", "x did not come by: y",
], strict=True)))
def test_the_search_finds_each(word: str, line: str, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(f"text\n{line}\n")
    assert found(word, [tmp_path / "page.md"], tmp_path) == {"page.md"}
