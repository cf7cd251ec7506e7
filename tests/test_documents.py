# SPDX-License-Identifier: GPL-2.0-only
"""The documents build without a warning, their links lead somewhere, and their commands do what the pages show."""
import functools
import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests import building, documents
from tests.waiting import eventually, has_ended

ROOT = documents.ROOT
OWN_TEST = {"first-policy.md"}   # userspace/tests/policy/test_tutorial.py
WRONG_ON_PURPOSE = {"command-line.md"}   # shows what a refused letter prints
URL = re.compile(r"https?://[^\s)>`\"']+")
INDENTED = re.compile(r"^(?:    .*\n|\n)+", re.MULTILINE)


def pages_with(kind: str) -> list[Path]:
    return [page for page in documents.list_pages()
            if page.parent.name in ("tutorials", "how-to") and page.name not in OWN_TEST
            and any((b.language, b.kind) == ("sh", kind) for b in documents.read_blocks(page))]


def names(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.fixture(scope="module")
def built() -> None:
    building.build("tools")


@pytest.mark.long("Sphinx reads every page")
def test_make_docs_has_no_warning(built: None) -> None:
    done = subprocess.run(["make", "-s", "docs"], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    pages = ROOT / "build" / "docs"
    assert (pages / "index.html").exists()
    for page in documents.list_pages():
        html = (pages / page.relative_to(ROOT)).with_suffix(".html")
        assert html.exists(), html
        for image in re.findall(r'<img [^>]*src="([^"]+)"', html.read_text(encoding="utf-8")):
            assert (html.parent / image).exists(), f"{html}: {image}"


@pytest.mark.parametrize("wrong", ["[nowhere](nowhere.md)", "[anchor](index.md#nowhere)", "![image](images/nowhere.png)",
                                   "[file](../policies/nowhere.h)"])
def test_a_link_to_nothing_fails(tmp_path: Path, wrong: str) -> None:
    folder = tmp_path / "Documentation"
    folder.mkdir()
    shutil.copytree(ROOT / "Documentation/sphinx", folder / "sphinx")
    (folder / "index.md").write_text(f"# Index\n\n{wrong}\n", encoding="utf-8")
    done = subprocess.run([ROOT / ".venv/bin/python", "-m", "sphinx", "-q", "-W", "-c", folder / "sphinx", tmp_path,
                           tmp_path / "out"], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode != 0 and "nowhere" in done.stderr


def test_addresses_are_well_formed() -> None:
    for page in documents.list_pages():
        for url in URL.findall(page.read_text(encoding="utf-8")):
            parts = urlsplit(url)
            assert parts.hostname and ("." in parts.hostname or parts.hostname == "localhost"), f"{page}: {url}"


@functools.cache
def help_of(*words: str) -> str:
    return subprocess.run([ROOT / "build/numaplace", *words, "--help"], capture_output=True, text=True,
                          check=True).stdout


def test_options_in_code_exist(built: None) -> None:
    seen = 0
    for page in documents.list_pages():
        if page.name in WRONG_ON_PURPOSE:
            continue
        text = page.read_text(encoding="utf-8")
        code = "".join(b.text for b in documents.read_blocks(page) if b.language == "sh") + "".join(INDENTED.findall(text))
        for words, option in documents.list_options(code):
            assert re.search(rf"(?<![\w-]){option}(?![\w-])", help_of(*words)), f"{page.name}: {' '.join(words)} {option}"
            seen += 1
    assert seen > 60


def run_page(page: Path, kinds: set[str], folder: Path, timeout: int) -> None:
    documents.save_files(page, folder)
    documents.run_blocks([b for b in documents.read_blocks(page) if b.language == "sh" and b.kind in kinds], folder, timeout)


@pytest.mark.parametrize("page", pages_with(""), ids=names)
def test_commands_print_what_the_page_shows(built: None, tmp_path: Path, page: Path) -> None:
    run_page(page, {""}, tmp_path, 120)


@pytest.mark.lab
@pytest.mark.full("boots for each page")
@pytest.mark.parametrize("page", pages_with("boot"), ids=names)
def test_commands_that_boot_the_lab(built: None, tmp_path: Path, page: Path) -> None:
    run_page(page, {"", "boot"}, tmp_path, 1800)


def test_a_page_that_shows_something_else_is_found(tmp_path: Path) -> None:
    page = ROOT / "Documentation" / "nowhere.md"
    block = documents.Block(str(page), "sh", "", "echo 1 2\n", "1 3\n")
    with pytest.raises(AssertionError, match="the page shows\n1 3"):
        documents.run_blocks([block], tmp_path, 10)
    documents.run_blocks([documents.Block(str(page), "sh", "", "echo 1 2\n", "1 3\n", varies=True)], tmp_path, 10)


def test_a_block_that_fails_is_found_with_its_processes(tmp_path: Path) -> None:
    # Bash loses a signal to a child that has not become its program yet.
    text = "sleep 600 & echo $! > pid\nuntil grep -q sleep /proc/$!/comm; do :; done\necho said\nfalse\n"
    block = documents.Block("nowhere.md:1", "sh", "", text)
    with pytest.raises(AssertionError, match="nowhere.md:1:\nsaid"):
        documents.run_blocks([block], tmp_path, 60)
    assert eventually(lambda: has_ended(int((tmp_path / "pid").read_text())))


def test_the_session_in_the_readme_is_the_measured_one() -> None:
    head, _, session = (ROOT / "Documentation/measured/session.txt").read_text(encoding="utf-8").partition("\n\n")
    assert "measured/session.sh" in head and "restored" in session
    assert f"```\n{session}```" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_table_in_the_readme_is_of_the_measured_one() -> None:
    """A part of its lines, in their order."""
    head, _, table = (ROOT / "Documentation/measured/demo.txt").read_text(encoding="utf-8").partition("\n\n")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = next(block for block in readme.split("```\n") if block.startswith(" workload")).splitlines()
    lines = iter([line.rstrip() for line in table.splitlines()])
    assert "table.sh demo" in head and len(shown) >= 8 and any(" none " in line for line in shown)
    assert [line for line in shown if line not in lines] == []


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 730


def test_the_page_of_tests_in_ci_begins_with_the_measured_run() -> None:
    head, _, session = (ROOT / "Documentation/measured/count.txt").read_text(encoding="utf-8").partition("\n\n")
    assert "measured/count.sh" in head and "remote_share is" in session
    assert f"```text\n{session}```" in (ROOT / "Documentation/how-to/ci.md").read_text(encoding="utf-8")


def test_the_table_of_metrics_has_those_that_a_daemon_wrote(built: None) -> None:
    subprocess.run(["make", "-s", "docs-tables"], cwd=ROOT, check=True)
    table = re.findall(r"^\| `(\w+)` \| (\w+) ", (ROOT / "build/reference/metrics.md").read_text(), re.MULTILINE)
    page = (ROOT / "Documentation/measured/daemon-metrics.txt").read_text()
    assert len(table) > 20 and set(table) == set(re.findall(r"^# TYPE numaplace_daemon_(\w+) (\w+)$", page, re.MULTILINE))
