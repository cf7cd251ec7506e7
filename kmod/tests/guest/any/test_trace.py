# SPDX-License-Identifier: GPL-2.0-only
"""The tracepoints: their fields are the documented ones, and their values are right."""

import re

import driver
import mempolicy as mpol
import pytest
import tracefs

DOCUMENT = driver.TOP / "Documentation" / "ABI" / "tracepoints-numaplace"


@pytest.fixture
def events():
    """The events numaplace:* while it is on."""
    with tracefs.recording("numaplace") as seen:
        yield seen


def documented() -> dict[str, list[str]]:
    """Fields by tracepoint: the first column of the table of each."""
    fields = {}
    for section in DOCUMENT.read_text().split("What:\t\t")[1:]:
        if name := re.match(r"\S+/numaplace/(\w+)/\n", section):
            table = re.search(r"^\t\t=+ =+\n(.*?)^\t\t=+ =+$", section, re.MULTILINE | re.DOTALL)
            fields[name[1]] = re.findall(r"^\t\t(\w+)", table[1], re.MULTILINE)
    return fields


def test_trace_fields_are_documented():
    """Every tracepoint and field that the kernel shows, in that order, and no other."""
    folder = tracefs.mounted() / "events" / "numaplace"
    real = {event.parent.name: re.findall(r"field:[^;]*?(\w+);", event.read_text().split("\n\n")[1])
            for event in folder.glob("*/format")}
    assert real == documented()


def test_trace_text_has_every_field():
    folder = tracefs.mounted() / "events" / "numaplace"
    for name, fields in documented().items():
        text = (folder / name / "format").read_text().split("print fmt:")[1]
        assert re.findall(r"(\w+)=", text.split('",')[0]) == fields, name


def test_trace_move(target, events):
    t = target("anon", 1024)
    reply = t.move("0", 1)
    mine = [(name, fields) for name, fields in events() if fields.get("pid") == str(t.pid)]
    assert mine[0][0] == "move_begin" and mine[-1][0] == "move_end"
    assert mine[0][1]["pid"] == str(t.pid)
    assert int(mine[0][1]["start"], 16) == t.start
    batches = [fields for name, fields in mine if name == "batch"]
    for count in (*driver.COUNTS, "bytes"):
        assert sum(int(b[count]) for b in batches) == int(reply[count]), count
    assert max(int(b["unmapped_ns"]) for b in batches) // 1000 == int(reply["longest_unmapped_us"])
    assert mine[-1][1]["moved"] == "1024"
    assert mine[-1][1]["error"] == "0"
    assert all(int(b["setup_ns"]) > 0 and int(b["copy_ns"]) > 0 for b in batches)


def test_trace_place(target, events):
    t = target("anon", 4)
    driver.write("place", f"pid={t.pid} cpus=2-3 mem=caller")
    driver.write("restore", f"pid={t.pid}")
    mine = [(name, fields) for name, fields in events() if fields.get("tid") == str(t.pid)]
    assert [name for name, _ in mine] == ["place", "policy", "restore"]
    assert (mine[0][1]["cpus"], mine[0][1]["first_cpu"]) == ("2", "2")
    assert (mine[1][1]["mode"], mine[1][1]["error"]) == ("0", "0")
    assert mine[2][1]["kept"] == "0"


def test_trace_policy_without_nodes(target, events):
    """The kernel leaves the nodes of a local policy as the memory was: the memory of one that has some."""
    t = target("anon", 1)
    try:
        for mode, nodes in ((mpol.BIND, 2), (mpol.LOCAL, 0)) * 3:
            mpol.set_own(mode, nodes)
            driver.write("place", f"pid={t.pid} mem=caller")
    finally:
        mpol.set_own(mpol.DEFAULT)
    mine = [(f["mode"], f["nodes"], f["first_node"]) for name, f in events() if name == "policy"]
    assert mine == [("2", "1", "1"), ("4", "0", "-1")] * 3
