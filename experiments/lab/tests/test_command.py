# SPDX-License-Identifier: GPL-2.0-only
"""The words that start a machine are those that the lab's parser reads."""

from experiments.lab.cli import build_parser
from experiments.lab.command import build_words


def test_words_are_those_of_lab_run():
    words = build_words("2x2", ["echo", "--machine", 1], ["--no-module"], functional=True, kernel="6.1", seconds=90)
    assert words[0].endswith("/numaplace-lab")
    read = build_parser().parse_args(words[1:])
    assert (read.machine, read.command, read.no_module, read.functional) == ("2x2", ["echo", "--machine", "1"], True, True)
    assert (read.kernel, read.timeout) == ("6.1", 90)


def test_a_machine_is_timed_and_without_a_limit():
    read = build_parser().parse_args(build_words("2x2", ["true"])[1:])
    assert (read.functional, read.timeout) == (False, 0)
