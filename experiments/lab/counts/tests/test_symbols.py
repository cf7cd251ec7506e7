# SPDX-License-Identifier: GPL-2.0-only
import subprocess
from pathlib import Path

import pytest

from experiments.lab.counts.symbols import Program, demangle_name

SOURCE = """\
static int table[4];
__attribute__((noinline)) int first(int i)
{
	return table[i & 3];
}
int main(int argc, char **argv)
{
	return first(argc);
}
"""


@pytest.fixture
def built(tmp_path) -> Path:
    (tmp_path / "p.c").write_text(SOURCE, encoding="ascii")
    subprocess.run(["cc", "-g", "-O1", "-o", "p", "p.c"], cwd=tmp_path, check=True)
    return tmp_path / "p"


def find_offset(program: Path, name: str) -> int:
    """Returns the offset of a function's begin in the file: an executable's code lies at the same place in file and memory."""
    lines = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout.splitlines()
    address = next(int(line.split()[0], 16) for line in lines if line.endswith(f" {name}"))
    segments = Program(str(program)).segments
    return next(address - start + at for at, size, start in segments if start <= address < start + size)


def test_a_function_and_its_line(built, monkeypatch):
    monkeypatch.chdir(built.parent)
    program, at = Program(str(built)), find_offset(built, "first")
    assert program.find_function(at) == "first"
    assert program.find_function(at + 1) == "first"
    assert program.find_function(find_offset(built, "main")) == "main"
    path, line = program.find_line(at)
    assert path == "p.c"
    assert 2 <= line <= 5  # those of the function


def test_a_stripped_program_has_no_names(built):
    at = find_offset(built, "first")
    subprocess.run(["strip", built], check=True)
    assert Program(str(built)).find_function(at) is None
    assert Program(str(built)).find_line(at) is None


def test_what_is_no_program_has_no_names(tmp_path):
    assert Program(str(tmp_path / "missing")).find_function(0) is None
    (tmp_path / "text").write_text("no program", encoding="ascii")
    assert Program(str(tmp_path / "text")).find_line(0) is None


def test_names_of_cxx_and_rust_are_those_of_the_source():
    assert demangle_name("_ZN12loaded_table6answer17h6be1e1acb8e28534E").startswith("loaded_table::answer::h6be")
    assert demangle_name("_Z3addii") == "add(int, int)"
    assert demangle_name("main") == "main"
    assert demangle_name("_Zbroken") == "_Zbroken"
