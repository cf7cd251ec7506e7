# SPDX-License-Identifier: GPL-2.0-only
"""The options that describe a machine to virtme-ng and QEMU."""

import os
from pathlib import Path

import pytest

from experiments.lab import machine, qemu
from experiments.lab.errors import UNABLE, LabError
from experiments.lab.machine import Machine, Node

GIB = 1 << 30
NOBODY = 65534


def build_machine(*nodes: Node) -> Machine:
    size = len(nodes)
    return Machine("m", "", "", list(nodes), [[10 if i == j else 21 for j in range(size)] for i in range(size)])


def test_nodes_and_distances_of_demo_2s():
    options = qemu.build_machine_options(machine.find("demo-2s"))
    assert options == ["--memory", "2048M", "--cpus", "4,sockets=2,cores=2,threads=1",
                       "--numa", "1024M,cpus=0,cpus=1", "--numa", "1024M,cpus=2,cpus=3",
                       "--numa-distance", "src=0,dst=1,val=21", "--numa-distance", "src=1,dst=0,val=21"]


def test_node_without_cpus_and_node_without_memory():
    options = qemu.build_machine_options(build_machine(Node([0, 1], GIB), Node([], GIB), Node([2, 3], 0)))
    assert [options[i + 1] for i, word in enumerate(options) if word == "--numa"] == [
        "1024M,cpus=0,cpus=1", "1024M", "0,cpus=2,cpus=3"]


@pytest.mark.parametrize("nodes", [
    ([0, 1, 2], [3]),  # of different sizes
    ([0, 2], [1, 3]),  # interleaved
])
def test_socket_never_spans_nodes(nodes):
    described = build_machine(*(Node(list(cpus), GIB) for cpus in nodes))
    assert qemu.format_topology(described) == "4,sockets=4,cores=1,threads=1"


@pytest.mark.parametrize(("sharing", "cores"), [(1, 1), (2, 2), (3, 4), (4, 4), (8, 4)])
def test_socket_is_a_last_level_where_nodes_have_several(sharing, cores):
    described = build_machine(Node([0, 1, 2, 3], GIB), Node([4, 5, 6, 7], GIB))
    described.cache = [{"shared_by_cpus": 1}, {"shared_by_cpus": sharing}]
    assert qemu.format_topology(described) == f"8,sockets={8 // cores},cores={cores},threads=1"


def test_script_ports_of_virtme_are_dropped_and_the_rest_kept():
    argv = ["qemu", "-m", "1G", "-no-reboot", "-chardev", "file,id=console,path=/dev/null",
            "-chardev", "stdio,id=stdin", "-device", "virtio-serial-pci",
            "-device", "virtserialport,name=x,chardev=stdin", "-device", "virtio-9p-pci,fsdev=a",
            "-kernel", "k"]
    assert qemu.remove_script_ports(argv) == [
        "qemu", "-m", "1G", "-no-reboot", "-chardev", "file,id=console,path=/dev/null",
        "-device", "virtio-9p-pci,fsdev=a", "-kernel", "k"]


@pytest.mark.parametrize("cwd", ["/", "/tmp/a,b", "/tmp/a=b", "/tmp/ü"])
def test_folder_that_cannot_be_passed_on_is_refused(cwd):
    with pytest.raises(LabError, match="cannot make the current folder") as caught:
        qemu.check_host(machine.find("demo-2s"), Path(cwd))
    assert caught.value.status == UNABLE


def test_folder_that_cannot_be_written_is_refused(tmp_path):
    qemu.check_writable(tmp_path)
    tmp_path.chmod(0o555)
    user = os.geteuid()
    os.seteuid(user or NOBODY)
    try:
        with pytest.raises(LabError, match=f"'{tmp_path}' cannot be written by user {user or NOBODY}") as caught:
            qemu.check_writable(tmp_path)
    finally:
        os.seteuid(user)
    assert caught.value.status == UNABLE


@pytest.mark.parametrize("node", [Node([0], 1 << 60), Node(list(range(256)), GIB)])
def test_machine_that_is_too_large_is_refused(node):
    with pytest.raises(LabError, match="choose a smaller one"):
        qemu.check_host(build_machine(node), Path("/tmp"))
