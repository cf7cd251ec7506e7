# SPDX-License-Identifier: GPL-2.0-only
"""What a machine has counted over its time: as it is read from the shared memory, and of a machine that runs."""

import io
import json
import threading

import pytest

from experiments.lab import timeline
from experiments.lab.tests.test_run import run_in_lab
from tests.waiting import eventually

NAMES = "instructions llc_misses "


def build_memory(now: int, *cpus: tuple[int, int, int, int], sequence: int = 2) -> bytes:
    """Builds the shared memory of two nodes; a CPU: instructions, misses, lines of either node."""
    head = timeline.HEAD.pack(1, 5, len(cpus), 2, 64, now, NAMES.encode())
    words = [list(cpu) + [0] * (timeline.MAX_NODES - 2) + [sequence] for cpu in cpus]
    return head + b"".join(b"".join(word.to_bytes(8, "little") for word in cpu).ljust(timeline.CPU_BYTES, b"\0") for cpu in words)


def test_totals_of_each_cpu_by_name():
    reader = timeline.Reader(build_memory(5, (10, 3, 1, 2), (20, 7, 4, 3)))
    assert reader.read_sample(reader.read_now_ns()) == {"now_ns": 5, "instructions": [10, 20], "llc_misses": [3, 7],
                                                        "dram": [[1, 2], [4, 3]]}


def test_totals_that_never_stop_changing_are_left_out():
    with pytest.raises(timeline.Torn):
        timeline.Reader(build_memory(5, (10, 3, 1, 2), sequence=3)).read_cpu(0)


def test_a_line_for_each_step_and_one_at_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(timeline, "LOOK_S", 0.0001)
    path, file, ended = tmp_path / "shared", io.StringIO(), threading.Event()
    path.write_bytes(build_memory(10, (0, 0, 0, 0)))
    thread = threading.Thread(target=timeline.follow_counts, args=(path, file, ended))
    thread.start()
    assert eventually(lambda: file.getvalue())
    for now, lines in ((timeline.STEP_NS - 1, 1), (timeline.STEP_NS, 2), (timeline.STEP_NS + 1, 2)):
        with path.open("r+b") as opened:
            opened.write(build_memory(now, (now, 0, 0, 0)))
        assert eventually(lambda lines=lines: file.getvalue().count("\n") == lines)
    ended.set()
    thread.join(10)
    assert [json.loads(line)["now_ns"] for line in file.getvalue().splitlines()] == [
        10, timeline.STEP_NS, timeline.STEP_NS + 1]


@pytest.mark.parametrize("options", [["--functional"], ["--exact"]])
def test_refused_where_there_is_none(options):
    done = run_in_lab("true", options=(*options, "--timeline", "line"))
    assert done.returncode == 2
    assert "leave --functional and --exact out" in done.stderr


def test_a_file_that_cannot_be_written_is_one_line(tmp_path):
    done = run_in_lab("true", options=("--timeline", str(tmp_path)))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert f"the timeline cannot be written to '{tmp_path}': Is a directory" in done.stderr


@pytest.mark.lab
@pytest.mark.long("a boot, and its plugin")
def test_misses_of_a_chase_are_on_its_cpu_and_its_node(tmp_path):
    file = tmp_path / "line"
    done = run_in_lab("numactl", "-C", "2", "-m", "0", "build/lab/programs/chase", "16", "0.02",
                      options=("--no-module", "--timeline", str(file)))
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    times = [line["now_ns"] for line in lines]
    assert times == sorted(times)
    assert len(lines) > 20
    grown = [after["dram"][2][0] - before["dram"][2][0] for before, after in zip(lines, lines[1:], strict=False)]
    assert sum(grown) > 0.02 / 131e-9 / 2  # a load takes 131 ns
    assert lines[-1]["dram"][2][1] < lines[-1]["dram"][2][0] / 4
