# SPDX-License-Identifier: GPL-2.0-only
"""The fuzzer's grammar is that of the ABI page, and the edits that plant faults fit the module."""

import re
import subprocess
from pathlib import Path

from kmod.tests import fuzz, planted

TOP = Path(__file__).resolve().parents[2]
PAGE = TOP / "Documentation/ABI/debugfs-numaplace"
ERROR = re.compile(r"\bE[A-Z2]{3,}\b")


def sections() -> dict[str, str]:
    parts = re.split(r"^What:\t\t/sys/kernel/debug/numaplace/(\w*)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def of_the_page() -> dict[str, set[str]]:
    """The keys and errors of each file that can be written."""
    every = sections()
    table = every.pop("").split("=======")
    common = {error for part in table for error in re.findall(r"^\t\t(E\w+)", part, re.MULTILINE)}
    found = {}
    for name, text in every.items():
        if not re.search(r"Mode 0[26]00", text):
            continue
        text = re.sub(r'gives "[^"]*"', "", text.partition("Reading gives")[0])
        keys = set(re.findall(r"\b([a-z_]+)=", text)) | set(re.findall(r'"([a-z]+)"', text))
        found[name] = keys | common | set(ERROR.findall(text))
    return found


def of_the_fuzzer() -> dict[str, set[str]]:
    program = TOP / "build/tests/fuzz_files"
    subprocess.run(["make", "-s", program.relative_to(TOP)], cwd=TOP, check=True)
    lines = subprocess.run([program, "grammar"], capture_output=True, text=True, check=True).stdout.splitlines()
    return {words[0]: set(words[1:]) for words in map(str.split, lines)}


def test_grammar_is_that_of_the_abi_page():
    assert of_the_fuzzer() == of_the_page()


def test_each_edit_fits_the_module():
    for fault in planted.FAULTS:
        assert (TOP / "kmod" / fault.file).read_text(encoding="utf-8").count(fault.before) == 1, fault.name


def test_what_a_run_has_found():
    console = "fuzz_files: seed 1: 100 operations\nfuzz_files: seed 1: 300 operations\nBUG: KASAN: slab\n"
    assert fuzz.sign_of_fault("", console, 1) == ("BUG: KASAN: slab", 300)
    assert fuzz.sign_of_fault("found after 7 operations: writer 1\n", "", 1) == ("found after 7 operations: writer 1", 7)
    assert fuzz.sign_of_fault("{}", "", 0) == ("", 0)
    assert fuzz.sign_of_fault("E  AssertionError: {'mm_struct': 5}\n", "", 1) == ("E  AssertionError: {'mm_struct': 5}", 0)
    assert fuzz.sign_of_fault("", "", 2) == ("ended with 2", 0)
