# SPDX-License-Identifier: GPL-2.0-only
"""The tool's TOML reader beside Python's own, under the address and undefined-behaviour sanitizers."""

import json
import math
import random
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
READER = ROOT / "build" / "tests" / "toml"
FILES = sorted([*ROOT.glob("experiments/**/*.toml"), *ROOT.glob("Documentation/how-to/*.toml"),
                *ROOT.glob("kmod/tests/*.toml"), ROOT / "pyproject.toml"])
MUTANTS, SEED = 4000, 15

SAME = [
    "", "# only a comment", "a = 1", "a=1\r\nb=2\r\n", "\ufeffa = 1", "a.b.c = 1\na.b.d = 2", "'a.b' = 1\n\"c\\td\" = 2",
    "a = 0x_1", "a = 0xdead_beef\nb = 0o17\nc = 0b1_0", "a = 1_000", "a = 1__0", "a = 01", "a = +0", "a = -0.0",
    "a = 1e3\nb = 1.5E-2\nc = 6.02_2e+2_3", "a = 1.", "a = .5", "a = 1e", "a = +", "a = 9223372036854775807",
    "a = tru", "a = True", "a = true\nb=false", "a =", "a", "a = 1 b = 2", "= 1", "a b = 1",
    'a = "x\\u00e9\\U0001F600\\n"', 'a = "\\ud800"', 'a = "\\x41"', 'a = "\\u12"', 'a = "no end', "a = 'no\nend'",
    'a = """\nx\\\n   y "" z"""', 'a = """x"""""', 'a = """x""""""', "a = '''x''''", 'a = "\x01"', "a = 1 # \x01",
    'a = """x\r\ny"""', 'a = """\\ x"""', '"""a""" = 1',
    "a = [1, 2, ]", "a = [,]", "a = [1 2]", "a = [ # c\n 1,\n # d\n [2] ]", "a = [1", "a = {}", "a = {b = 1, c.d = 2}",
    "a = {b = 1,}", "a = {b = 1\n}", "a = {b = [\n1\n]}", "a = {b = 1, b = 2}", "a = {b = {c = 1}, b.d = 2}",
    "[a]\nb = 1\n[a.c]\nd = 1", "[a]\n[a]", "[a.b]\n[a]\nc = 1", "[a.b]\n[a]\nb.c = 1", "[a.b.c]\nz = 9\n[a]\nb.c.t = 1",
    "[a]\nb.c = 1\n[a.b]", "[a]\nb.c = 1\n[a.b.d]\ne = 1", "a = 1\n[a]", "a = {}\n[a.b]", "a = {}\na.b = 1", "a = [{}]\n[[a]]",
    "[[a]]\nb = 1\n[[a]]\nb = 2\n[a.c]\nd = 1", "[[a]]\n[a]", "[a]\n[[a]]", "[[a.b]]\n[[a.b]]\nc = 1", "[a]\nb = []\n[[a.b]]",
    "[ a . b ]\nc=1", "[a.]\n", "[]\n", "[a]]", "[[a]\n", "[[a] ]", "[ [a]]", "[a] b = 1", "a = 1\ra = 2", "a.b = 1\na = 2",
    "a = 1\na.b = 2", "\x00", "a = \x00", "a = 'é'\n", "é = 1",
]
# Valid TOML that neither JSON nor a C string can hold.
REFUSED = {"a = 1979-05-27": "dates", "a = 07:32:00": "dates", "a = inf": "inf", "a = -nan": "nan",
           "a = 1e999": "too large", "a = 99999999999999999999": "64 bits", 'a = "\\u0000"': "may hold",
           "a = " + "[" * 65 + "]" * 65: "within each other", "a." * 64 + "a = 1": "within each other",
           "[" + "a." * 64 + "a]": "within each other", "a." * 32 + "a = " + "[" * 40 + "]" * 40: "within each other",
           "a." * 300000 + "a = 1": "within each other"}


def read(folder: Path, texts: list[bytes]) -> list:
    paths = []
    for number, text in enumerate(texts):
        path = folder / str(number)
        path.write_bytes(text)
        paths.append(path)
    done = subprocess.run([READER, *paths], capture_output=True, text=True, check=True)
    assert not done.stderr, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def fits(value) -> bool:
    """JSON and C hold it: no dates, inf, nan, numbers beyond 64 bits, U+0000."""
    if isinstance(value, dict):
        return all(fits(key) and fits(inner) for key, inner in value.items())
    if isinstance(value, list):
        return all(map(fits, value))
    if isinstance(value, int):
        return -(1 << 63) <= value < 1 << 63
    return math.isfinite(value) if isinstance(value, float) else isinstance(value, str) and "\0" not in value


def of_python(text: bytes):
    """The value, "" where the text is no TOML, None where the tool refuses what TOML allows."""
    try:
        value = tomllib.loads(text.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return ""
    return value if fits(value) and text.count(b"[") <= 64 else None


def compare(texts: list[bytes], values: list):
    for text, value in zip(texts, values, strict=True):
        expected = of_python(text)
        if expected is None and isinstance(value, str):
            continue
        assert isinstance(value, str) if expected == "" else value == expected, (text, value, expected)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_of_the_tree_are_read_as_python_reads_them(path, tmp_path):
    (value,) = read(tmp_path, [path.read_bytes()])
    assert value == tomllib.loads(path.read_text(encoding="utf-8"))


def test_each_rule_is_kept_as_python_keeps_it(tmp_path):
    texts = [text.encode() for text in SAME]
    values = read(tmp_path, texts)
    compare(texts, values)
    accepted = sum(not isinstance(value, str) for value in values)
    assert 30 < accepted < len(SAME) - 40, "both kinds are asked"


def test_what_json_cannot_hold_is_refused_by_its_line(tmp_path):
    for value, why in zip(read(tmp_path, [f"\n{text}\n".encode() for text in REFUSED]), REFUSED.values(), strict=True):
        assert isinstance(value, str) and ":2: " in value and why in value, value


def test_what_is_not_utf8_is_refused_by_its_line(tmp_path):
    (value,) = read(tmp_path, [b"a = 1\nb = '\xff'\n"])
    assert value.endswith(":2: is not UTF-8")


def test_damaged_files_are_judged_as_python_judges_them(tmp_path):
    """Bytes of real files are exchanged, removed, repeated: what is still TOML has the same value."""
    draw = random.Random(SEED)
    sources = [path.read_bytes() for path in FILES] + [text.encode() for text in SAME]
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
    values = [value for start in range(0, MUTANTS, 1000) for value in read(tmp_path, texts[start:start + 1000])]
    compare(texts, values)
    assert 200 < sum(not isinstance(value, str) for value in values) < MUTANTS - 200
