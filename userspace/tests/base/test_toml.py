# SPDX-License-Identifier: GPL-2.0-only
"""The tool's TOML reader beside Python's own, under the address and undefined-behaviour sanitizers."""

import json
import random
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
READER = ROOT / "build" / "tests" / "toml"
FILES = sorted([*ROOT.glob("experiments/lab/machines/*.toml"), *ROOT.glob("Documentation/how-to/*.toml"), *ROOT.glob("userspace/tests/*.toml")])
MUTANTS, SEED = 4000, 15

TAKEN = [
    "", "# only a comment", "a = 1", "a=1\r\nb=2\r\n", "'a.b' = 1\n\"c\\td\" = 2", "a = -0.0\nb = 1e3\nc = 1.5E-2\nd = true\ne=false",
    "a = 9223372036854775807", 'a = "x\\u00e9\\n" # c', "a = 'x\"\\u00e9'", "a = 'é'", "a = [1, 2, ]", "a = [ # c\n 1,\n # d\n [2] ]", "a = {}",
    "a = {b = 1, 'c' = {d = 2}}", "a = {b = [\n1\n]}", "[a]\nb = 1\n[a.c]\nd = 1", "[a.b]\n[a]\nc = 1", "[ a . b ]\nc=1",
    "[[a]]\nb = 1\n[[a]]\nb = 2\n[a.c]\nd = 1", "[[a.b]]\n[[a.b]]\nc = 1",
]
# No TOML, or a part of it that no file here needs.
REFUSED = {
    "a = 1979-05-27": "is not true, false or a number", "a = inf": "is not true", "a = 1e999": "is not true",
    "a = 99999999999999999999": "of 64 bits", "a = 0x1f": "is not true", "a = 1_000": "is not true", "a = +1": "is not true", "a = 01": "is not true",
    "a = .5": "is not true", "a = True": "is not true", "a = null": "is not true", "a =": "a value is missing", "a": "has no '='",
    "a.b = 1": "has no '='", "= 1": "a key of letters", "a b = 1": "has no '='", "é = 1": "a key of letters", "a = 1 b = 2": "there is more",
    'a = "no end': "does not end", "a = 'no": "does not end", 'a = """x"""': "one quote on each side", 'a = "\\x41"': "an escape that JSON",
    'a = "\\u0000"': "an escape", "a = [,]": "is missing", "a = [1 2]": "a ',' or ']'", "a = {b = 1,}": "a key of letters",
    "a = {b = 1, b = 2}": "is defined twice", "[a]\n[a]": "is defined twice", "a = 1\n[a]": "is defined twice", "a = 1\na = 2": "is defined twice",
    "a = {}\n[a.b]": "has a value", "a = 1\n[a.b]": "has a value", "a = [{}]\n[[a]]": "is defined twice", "[[a]]\n[a]": "is defined twice",
    "[a]\n[[a]]": "is defined twice", "[a.]": "a key of letters", "[]": "a key of letters", "[a]]": "there is more", "[[a]": "ends with ']]'",
    "[ [a]]": "a key of letters", "[a] b = 1": "there is more", "a = " + "[" * 65 + "]" * 65: "within each other",
    "[" + "a." * 300000 + "a]": "within each other",
}


def read(folder: Path, texts: list[bytes]) -> list:
    paths = []
    for number, text in enumerate(texts):
        path = folder / str(number)
        path.write_bytes(text)
        paths.append(path)
    done = subprocess.run([READER, *paths], capture_output=True, text=True, check=True)
    assert not done.stderr, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_of_the_tree_are_read_as_python_reads_them(path, tmp_path):
    (value,) = read(tmp_path, [path.read_bytes()])
    assert value == tomllib.loads(path.read_text(encoding="utf-8"))


def test_what_is_taken_is_read_as_python_reads_it(tmp_path):
    for text, value in zip(TAKEN, read(tmp_path, [text.encode() for text in TAKEN]), strict=True):
        assert value == tomllib.loads(text), text


def test_what_is_refused_is_refused_by_its_line(tmp_path):
    texts = [f"# c\n{text}\n".encode() for text in REFUSED]
    for text, value, why in zip(REFUSED, read(tmp_path, texts), REFUSED.values(), strict=True):
        assert isinstance(value, str) and f":{2 + text.count(chr(10))}: " in value and why in value, (text, value)


def test_a_text_that_is_not_utf8_or_holds_a_nul_is_refused(tmp_path):
    encoded, nul = read(tmp_path, [b"a = 1\nb = '\xff'\n", b"a = 1\n\0"])
    assert ":2: " in encoded and "is not UTF-8" in encoded and "cannot be read" in nul


def test_damaged_files_are_read_as_python_reads_them_or_refused(tmp_path):
    """Bytes of real files are exchanged, removed, repeated: what both take has one value."""
    draw = random.Random(SEED)
    sources = [path.read_bytes() for path in FILES] + [text.encode() for text in TAKEN]
    pieces = [b'"', b"'", b"[", b"]", b"[[", b"]]", b"{", b"}", b"=", b".", b",", b"\n", b"#", b"_", b"\\", b"0", b"e", b" "]
    texts = []
    for _ in range(MUTANTS):
        text = draw.choice(sources)
        at = draw.randrange(max(1, len(text)))
        text = text[max(0, at - 200):at + 200]
        for _ in range(draw.randint(1, 3)):
            at = draw.randrange(len(text) + 1)
            text = text[:at] + draw.choice([b"", draw.choice(pieces), text[at:at + 9] * 2]) + text[at + draw.randint(0, 2):]
        texts.append(text)
    both = 0
    for text, value in zip(texts, read(tmp_path, texts), strict=True):
        try:
            expected = tomllib.loads(text.decode())
        except (tomllib.TOMLDecodeError, UnicodeDecodeError):
            continue
        both += not isinstance(value, str)
        assert isinstance(value, str) or value == expected, (text, value, expected)
    assert 200 < both < MUTANTS - 200
