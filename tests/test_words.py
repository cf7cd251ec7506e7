# SPDX-License-Identifier: GPL-2.0-only
"""Words. Those that CHANGELOG.md calls deprecated stand only where they are accepted, and where that is tested. Those
that CONTRIBUTING.md ("Language and errors") and the glossary replace stand nowhere."""

import re
from pathlib import Path

import pytest

from tests import style

ROOT = Path(__file__).parents[1]
EVERYWHERE = {"CHANGELOG.md", "tests/test_words.py"}
QUOTES_THEM = {"LICENSE", "tests/test_words.py"}
PLATFORM = {"userspace/lib/host/topology.c", "userspace/tests/host/machine.c", "userspace/tests/files/snapshot.c",
            "userspace/tests/cmd/test_userspace.py", "experiments/analysis/runs/results.py",
            "experiments/analysis/tests/test_analysis_data.py", "experiments/runner/tests/test_runner_schema.py"}
WHERE = {"userspace/cmd/cmd_measure_penalty.c", "userspace/cmd/cmd_topology.c", "userspace/lib/files/snapshot.c",
         "userspace/lib/files/snapshot_read.c", "userspace/lib/plan/request_print.c", "userspace/lib/predict/report.c",
         "userspace/tests/files/snapshot.c", "userspace/tests/cmd/test_predict.py",
         "userspace/tests/cmd/test_userspace.py", "userspace/tests/cmd/golden/predict.json",
         "userspace/tests/plan/golden/applied.json", "userspace/tests/plan/golden/plan.json"}
OPTIONS = {"experiments/lab/cli.py", "experiments/lab/tests/test_run.py", "experiments/runner/cli.py",
           "experiments/runner/tests/test_runner_observe_static.py"}
COMMANDS = {"userspace/cmd/numaplace.c", "userspace/tests/cmd/test_userspace.py"}
FORMER = {  # the word: files with its alias
    r"lab-(plain|simulated)\b": PLATFORM,
    r"""['"\[]where\\?['"](\]| ?[:,] (np_platform|['"](real|lab|simulated)))|"platform" : "where\"""": WHERE,
    r"numaplace_lab=[^ ]*,(plain|simulated)\b": set(),
    r"(?<![\w-])--(plain|simulated)\b": OPTIONS,
    r"numaplace\"? simulate\b|`simulate\b|\"simulate\"|\bcmd_simulate\b": COMMANDS,
    r"numaplace\"? calibrate(?!\\?-)\b|\"calibrate\", (\"--|\"measure)|\bcmd_calibrate\b": COMMANDS,
    r"(?<![a-z])count(ing|ed)_(tasks|rounds|cpu_seconds)": set(),
    r"\b(np_where|NP_WHERE|np_source|NP_SOURCE)(_\w+)?\b|\bnp_machine_where\b": set(),
    r"did not come by": set(),
}
AVOIDED = {  # anywhere: what to write. A term of the glossary stands between asterisks.
    "who (is|are)": "the thing as subject",
    "by luck|moods|by and by": "the cause, or nothing",
    "measured again|until (19|20)[0-9]{2}-": "no history",
    "of course|obviously|basically|in order to|utili[sz]e": "nothing, or the plain word",
    "(is|are|do|does|ca|wo|could|would|should)n't": "the words in full",
    "the the|of of|to to|in in|is is|and and|a a": "one of the two words",
    "under way": "*in flight*",
    "foreseen": "*prefetched*",
    "(go|goes|gone|went|going) astray": "*misplaced page*",
}


def tracked(top: Path) -> list[Path]:
    return [top / name for name in style.tracked(top)]


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


def avoided(text: str) -> list[str]:
    """Also where a line ends between two words."""
    patterns = {words: rf"(?<![\w'-])({words})(?![\w-])".replace(" ", r"\s+") for words in AVOIDED}
    return [f"'{match[0]}': write {AVOIDED[words]}" for words, pattern in patterns.items()
            for match in re.finditer(pattern, text, re.IGNORECASE)]


def test_avoided_words_stand_nowhere() -> None:
    texts = {str(file.relative_to(ROOT)): file.read_bytes() for file in tracked(ROOT)}
    found = {name: avoided(text.decode(errors="replace")) for name, text in texts.items() if style.is_text(name, text)}
    assert {name: words for name, words in found.items() if words and name not in QUOTES_THEM} == {}


def test_an_avoided_word_is_found() -> None:
    assert avoided("Pages under\nway, and and whose.") == ["'and and': write one of the two words",
                                                          "'under\nway': write *in flight*"]


def test_the_glossary_has_what_it_replaces_them_by() -> None:
    glossary = (ROOT / "Documentation/glossary.md").read_text(encoding="utf-8")
    for term in re.findall(r"\*(.+?)\*", " ".join(AVOIDED.values())):
        assert f"- **{term}**:" in glossary
