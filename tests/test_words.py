# SPDX-License-Identifier: GPL-2.0-only
"""Words that CONTRIBUTING.md ("Language and errors") and the glossary replace stand nowhere."""

import re
from pathlib import Path

from tests import style

ROOT = Path(__file__).parents[1]
QUOTES_THEM = {"LICENSE", "tests/test_words.py"}
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
    return [top / name for name in style.list_tracked(top)]


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
