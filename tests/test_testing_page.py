# SPDX-License-Identifier: GPL-2.0-only
"""Documentation/testing.md names tests that exist, with the tier and the kernels that markers and folders say."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "Documentation/testing.md").read_text(encoding="utf-8")
ELSEWHERE = re.compile(r"make check-(debug|torture)\b|\bfault_injection\b|a piece of make check-full")  # in a file that make check leaves out


def where(file: Path, function: str) -> str:
    """The tier and the kernels, or what is wrong."""
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    found = re.search(rf"((?:^[^\n]+\n)*)^(?:(?:def|static void) {function}\(|TEST\({function}\))", text, re.MULTILINE)
    if not found:
        return "is not there"
    marks, guest = found[1], "/guest/" in str(file)
    full = re.search(r"^@pytest\.mark\.full\(", marks, re.MULTILINE) or "\npytestmark = pytest.mark.full(" in text or ELSEWHERE.search(text)
    lab = re.search(r"^(@|pytestmark = .*)pytest\.mark\.lab\b", text if "pytestmark" in text else marks, re.MULTILINE)
    every = "/guest/kernel/" in str(file) or guest and full or "known_series" in marks
    return f"{'full' if full else 'check'} {'all' if every else '6.12' if guest or lab else 'host'}"


def wrong(page: str) -> Iterator[str]:
    """A line for each test whose row is wrong."""
    for section in page.split("\n### ")[1:]:
        folder, file = re.search(r"below `(.+)`|$", section)[1] or "", ROOT
        for tests, tier, kernels in re.findall(r"^\| [^|]+ \| ([^|]*::[^|]+) \| (\w+)[^|]* \| ([^|]+) \|$", section, re.MULTILINE):
            for name, function in re.findall("`([^`]*)::([^`]+)`", tests):
                file = next((path for path in (ROOT / folder / name, ROOT / name) if name and path.exists()), ROOT / name if name else file)
                if (found := where(file, function)) != f"{tier} {kernels}":
                    yield f"{name or file.name}::{function}: {found}, not {tier} {kernels}"


def test_the_page_is_right_and_a_fault_is_found() -> None:
    assert list(wrong(PAGE)) == [] and PAGE.count("::") > 200
    for old, new in (("::test_write_neg", "::test_write_nge"), ("test_shell.py", "test_shel.py"), ("full: boots", "check"), ("| 6.12 |", "| all |")):
        assert list(wrong(PAGE.replace(old, new))), old
