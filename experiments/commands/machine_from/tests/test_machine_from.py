# SPDX-License-Identifier: GPL-2.0-only
"""numaplace machine --from: what is read of each format, how files complete each other, and that the tool accepts what is written."""

import json
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from experiments.commands.machine_from import cli
from experiments.commands.machine_from.describe import Cache, Description
from experiments.commands.machine_from.reduce import Choice, Kept, Reduced, count_sharing_last
from experiments.commands.machine_from.write import make_name
from experiments.errors import ExperimentError
from experiments.paths import HERE

NUMACTL = """available: 2 nodes (0,2)
node 0 cpus: 0 1 2 3
node 0 size: 3000 MB
node 0 free: 2000 MB
node 2 cpus: 4 5 6 7
node 2 size: 1000 MB
node 2 free: 900 MB
node distances:
node     0    2
   0:   10   17
   2:   18   10
"""
MLC = """Intel(R) Memory Latency Checker - v3.11
Measuring idle latencies for random access (in ns)...
\t\tNuma node
Numa node\t     0\t     2\t
       0\t  80.0\t 140.0\t
       2\t 136.0\t  84.0\t

Measuring Peak Injection Memory Bandwidths for the system
ALL Reads        :\t200000.0\t

Measuring Memory Bandwidths between nodes within system
Bandwidths are in MB/sec
Using Read-only traffic type
\t\tNuma node
Numa node\t     0\t     2\t
       0\t100000.0\t32000.0\t
       2\t32000.0\t100000.0\t

Measuring cache-to-cache transfer latency (in ns)...
Local Socket L2->L2 HIT  latency\t50.0
Local Socket L2->L2 HITM latency\t52.0
Remote Socket L2->L2 HITM latency (data address homed in writer socket)
\t\t\tReader Numa Node
Writer Numa Node     0\t     2\t
            0\t     -\t 110.0\t
            2\t 114.0\t     -\t
Remote Socket L2->L2 HITM latency (data address homed in reader socket)
\t\t\tReader Numa Node
Writer Numa Node     0\t     2\t
            0\t     -\t 180.0\t
            2\t 184.0\t     -\t
"""
# Two nodes, two cores of two threads on each; the second version's nodes stand beside what they are the memory of.
HWLOC_2 = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x000000ff" gp_index="1">
    <info name="CPUModel" value="Some CPU @ 2.40GHz"/>
{packages}
  </object>
  <distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="os">
    <indexes length="4">0 1 </indexes>
    <u64values length="12">10 21 21 10 </u64values>
  </distances2>
</topology>
"""
PACKAGE_2 = """<object type="Package" os_index="{n}" cpuset="{mask}" gp_index="1{n}">
 <object type="NUMANode" os_index="{n}" cpuset="{mask}" gp_index="2{n}" local_memory="8589934592"/>
 <object type="L3Cache" gp_index="3{n}" cache_size="31457280" depth="3" cache_linesize="64" cache_associativity="20" cache_type="0">
 {cores}</object></object>"""
CORE = """<object type="L1Cache" cache_size="32768" depth="1" cache_linesize="64" cache_associativity="8" cache_type="1">
 <object type="Core" os_index="{n}"><object type="PU" os_index="{a}"/><object type="PU" os_index="{b}"/></object></object>"""
HWLOC_1 = """<topology>
 <object type="Machine" os_index="0" cpuset="0x0000000f">
  <distances nbobjs="2" relative_depth="1" latency_base="10.000000">
   <latency value="1.000000"/><latency value="2.000000"/><latency value="2.000000"/><latency value="1.000000"/>
  </distances>
  <object type="NUMANode" os_index="0" cpuset="0x00000003" local_memory="1073741824">
   <object type="Cache" cache_size="1048576" depth="2" cache_linesize="64" cache_type="0">
    <object type="PU" os_index="0" cpuset="0x1"/></object>
   <object type="PU" os_index="1" cpuset="0x2"/></object>
  <object type="NUMANode" os_index="1" cpuset="0x0000000c" local_memory="1073741824">
   <object type="PU" os_index="2" cpuset="0x4"/><object type="PU" os_index="3" cpuset="0x8"/></object>
 </object>
</topology>
"""


def make_hwloc_2() -> str:
    packages = []
    for n, mask in enumerate(("0x00000033", "0x000000cc")):
        cores = "".join(CORE.format(n=core, a=core, b=core + 4) for core in (2 * n, 2 * n + 1))
        packages.append(PACKAGE_2.format(n=n, mask=mask, cores=cores))
    return HWLOC_2.format(packages="\n".join(packages))


def make_sysfs(top: Path, nodes: list[tuple[str, int, str]], cpus: int) -> Path:
    """Makes a tree of nodes (CPUs, MiB, distances) and CPUs with two threads a core."""
    files = {"cpu/online": f"0-{cpus - 1}"}
    for number, (cpu_list, mib, distance) in enumerate(nodes):
        folder = f"node/node{number}"
        files |= {f"{folder}/cpulist": cpu_list, f"{folder}/distance": distance,
                  f"{folder}/meminfo": f"Node {number} MemTotal:   {mib * 1024} kB"}
    for cpu in range(cpus):
        files[f"cpu/cpu{cpu}/topology/thread_siblings_list"] = f"{cpu % (cpus // 2)},{cpu % (cpus // 2) + cpus // 2}"
    for index, (level, kind, size, ways) in enumerate(((1, "Data", "128K", 8), (1, "Instruction", "32K", 8), (2, "Unified", "1024K", 16),
                                                       (3, "Unified", "33792K", 11))):
        folder = f"cpu/cpu0/cache/index{index}"
        files |= {f"{folder}/{key}": str(value) for key, value in (("level", level), ("type", kind), ("size", size), (
            "ways_of_associativity", ways), ("coherency_line_size", 64), ("shared_cpu_list", "0-1"))}
    for name, text in files.items():
        path = top / "sys/devices/system" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return top


def convert(*words: object) -> dict[str, Any]:
    return tomllib.loads(cli.convert([str(word) for word in words])[0])


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def accept(path: Path, text: str) -> dict[str, Any]:
    """Returns what the tool reads of a machine file."""
    tool = HERE.programs / "numaplace"
    if not tool.exists():
        pytest.skip("build/numaplace is missing: make tools builds it")
    done = subprocess.run([tool, "machine", "--json", write(path, text)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    read = json.loads(done.stdout)
    assert read["plugin"], "its time can be simulated"
    return read


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_numactl(tmp_path: Path, line_end: str) -> None:
    made = convert("--from", write(tmp_path / "numactl.txt", NUMACTL.replace("\n", line_end)))
    assert [node["cpus"] for node in made["node"]] == ["0-3", "4-7"] and made["cpus"] == 8
    assert [node["memory"] for node in made["node"]] == ["1536 MiB", "512 MiB"]
    assert made["distances"] == [[10, 17], [18, 10]] and made["name"] == "numactl"
    assert made["model"]["link"][0]["latency_ns"]["source"].startswith("assumed: ")
    assert "c2c" not in made["model"]


def test_mlc_completes_numactl(tmp_path: Path) -> None:
    text, warnings = cli.convert(["--from", str(write(tmp_path / "numactl.txt", NUMACTL)), "--from", str(write(tmp_path / "mlc.log", MLC))])
    model = tomllib.loads(text)["model"]
    assert warnings == [] and "# Nodes 0 to 1 are nodes 0, 2 of numactl.txt." in text
    assert model["dram"]["latency_ns"]["value"] == 82 and model["node"][0]["dram"]["latency_ns"]["value"] == 80
    (link,) = model["link"]
    assert link["latency_ns"]["value"] == 56 and link["bandwidth_mb_s"]["value"] == 36000
    assert {key: one["value"] for key, one in model["c2c"].items()} == {"local_ns": 52, "remote_ns": 112, "remote_home_ns": 182}
    assert link["latency_ns"]["source"] == "calibrated: mlc.log, mlc latency of nodes 0 to 2, less the memory's own"


def test_mlc_alone_gives_distances_and_has_its_nodes_assumed(tmp_path: Path) -> None:
    made = convert("--from", write(tmp_path / "mlc.log", MLC))
    assert made["distances"] == [[10, 18], [16, 10]] and made["cpus"] == 8 and made["memory"] == "2048 MiB"


def test_hwloc_2(tmp_path: Path) -> None:
    made = convert("--from", write(tmp_path / "box.xml", make_hwloc_2()))
    assert [node["cpus"] for node in made["node"]] == ["0-1", "2-3"], "one CPU of each core"
    assert [(cache["level"], cache["size"], cache["ways"]) for cache in made["cache"]] == [(1, "32 KiB", 8), (3, "30720 KiB", 20)]
    assert made["cache"][1]["shared_by_cpus"] == 2 and made["distances"] == [[10, 21], [21, 10]]
    assert made["model"]["core"]["mhz"] == {"value": 2400, "source": "calibrated: box.xml, CPUModel"}
    assert made["cache"][1]["source"] == "calibrated: box.xml, caches of CPU 0; assumed: latency"
    whole = convert("--from", tmp_path / "box.xml", "--smt")
    assert whole["cpus"] == 8 and whole["cache"][1]["shared_by_cpus"] == 4


@pytest.mark.parametrize(("cpus", "sharing", "written", "warned"), [
    (16, 8, 8, ""),
    (128, 8, 8, ""),
    (128, 4, 8, "L3 of 4 CPUs is written as one of 8: the lab has up to 32 last levels"),
    (8, 16, 16, ""),  # of two nodes
    (8, 0, 8, ""),    # not said: of a node
])
def test_last_levels_of_groups_of_cpus(cpus: int, sharing: int, written: int, warned: str) -> None:
    cache = Cache(3, 1 << 25, 16, 64, tuple(range(sharing)))
    reduced = Reduced([Kept(node, list(range(node * cpus, (node + 1) * cpus)), 1024) for node in range(2)], Choice(), [])
    assert count_sharing_last(cache, Description("box"), reduced) == written
    assert reduced.warnings == [warned] * bool(warned)


def test_hwloc_1(tmp_path: Path) -> None:
    made = convert("--from", write(tmp_path / "old.xml", HWLOC_1))
    assert [node["cpus"] for node in made["node"]] == ["0-1", "2-3"] and made["distances"] == [[10, 20], [20, 10]]
    assert [(cache["level"], cache["source"][:10]) for cache in made["cache"]] == [(1, "assumed: c"), (2, "calibrated")]


def test_sysfs(tmp_path: Path) -> None:
    folder = make_sysfs(tmp_path / "box", [("0-1,4-5", 4096, "10 21 31"), ("2-3,6-7", 4096, "21 10 31"), ("", 8192, "31 31 10")], 8)
    initiators = folder / "sys/devices/system/node/node2/access0/initiators"
    (initiators / "node1").mkdir(parents=True)
    write(initiators / "read_latency", "250\n")
    write(initiators / "read_bandwidth", "20000\n")
    text, warnings = cli.convert(["--from", str(folder), "--memory", "1GiB"])
    made = tomllib.loads(text)
    assert [(node["cpus"], node["memory"]) for node in made["node"]] == [("0-1", "256 MiB"), ("2-3", "256 MiB"), ("", "512 MiB")]
    assert "# node 0 of box, CPUs 0-1" in text and "# 4 of 8 CPUs: one of each core." in text
    assert warnings == ["L1 of 131072 bytes is written as 65536 bytes: the lab takes 4096 to 65536, in multiples of 4096"]
    assert [(cache["size"], cache["ways"]) for cache in made["cache"]] == [("64 KiB", 8), ("1024 KiB", 16), ("33792 KiB", 11)]
    links = {tuple(map(tuple, link["between"])): link for link in made["model"]["link"]}
    assert links[(1, 2),]["latency_ns"]["value"] == 160, "of 250 ns 90 are the memory's own"
    assert made["model"]["node"][0]["node"] == 2
    assert made["model"]["node"][0]["dram"]["bandwidth_mb_s"] == {"value": 20000, "source": "calibrated: box, HMAT bandwidth of node 2"}


@pytest.mark.parametrize("cell", ["", "NaN"])
def test_matrix_between_cpus(tmp_path: Path, cell: str) -> None:
    rows = [",".join((("40" if (near < 4) == (far < 4) else "120") if far < near else cell) for far in range(8)) for near in range(8)]
    csv = write(tmp_path / "c2c.csv", "\n".join(rows) + "\n")
    c2c = convert("--from", write(tmp_path / "numactl.txt", NUMACTL), "--from", csv)["model"]["c2c"]
    assert c2c["local_ns"] == {"value": 40, "source": "calibrated: c2c.csv, mean of pairs of CPUs of a last level"}
    assert c2c["remote_ns"]["value"] == 120


def test_matrix_of_a_node_with_several_last_levels(tmp_path: Path) -> None:
    """Four CPUs of a node with a third level for each two, as core complexes have it."""
    places = [(cpu // 4, cpu // 2) for cpu in range(8)]
    rows = [",".join(str(25 if near == far else 90 if near[0] == far[0] else 200) for far in places) for near in places]
    csv, folder = write(tmp_path / "c2c.csv", "\n".join(rows)), make_sysfs(tmp_path / "box", [("0-3", 4096, "10 20"), ("4-7", 4096, "20 10")], 8)
    write(folder / "sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list", "0-1\n")
    made = convert("--from", csv, "--from", folder, "--smt")
    assert made["cache"][-1]["shared_by_cpus"] == 2
    assert {key: one["value"] for key, one in made["model"]["c2c"].items()} == {"local_ns": 25, "node_ns": 90, "remote_ns": 200}


def test_matrix_leaves_out_threads_of_one_core(tmp_path: Path) -> None:
    rows = [",".join(str(1 if abs(near - far) == 4 else 50) for far in range(8)) for near in range(8)]
    csv, box = write(tmp_path / "c2c.csv", "\n".join(rows)), write(tmp_path / "box.xml", make_hwloc_2())
    assert convert("--from", csv, "--from", box)["model"]["c2c"]["local_ns"]["value"] == 50


def test_the_tool_accepts_what_is_written(tmp_path: Path) -> None:
    sysfs = make_sysfs(tmp_path / "box", [("0-1,4-5", 4096, "10 21 31"), ("2-3,6-7", 4096, "21 10 31"), ("", 8192, "31 31 10")], 8)
    texts = {"numactl.txt": NUMACTL, "mlc.log": MLC, "old.xml": HWLOC_1, "new.xml": make_hwloc_2()}
    files = [sysfs, *(write(tmp_path / name, text) for name, text in texts.items())]
    for file in files:
        read = accept(tmp_path / "own.toml", cli.convert(["--from", str(file)])[0])
        assert sum(len(node["cpus"]) for node in read["nodes"]) >= 4, file
    both = [word for file in files[1:3] for word in ("--from", str(file))]
    assert accept(tmp_path / "own.toml", cli.convert(both)[0])["access"]["latency_ns"][0] == [80, pytest.approx(140)]


def test_options_keep_less(tmp_path: Path) -> None:
    file = write(tmp_path / "numactl.txt", NUMACTL)
    assert [node["cpus"] for node in convert("--from", file, "--cpus-per-node", 1)["node"]] == ["0", "1"]
    made = convert("--from", file, "--nodes", 2, "--name", "Half of It")
    assert made["name"] == "half-of-it" and [node["cpus"] for node in made["node"]] == ["0-3"] and made["distances"] == [[10]]


@pytest.mark.parametrize("text, name", [("2x2", "machine-2x2"), ("../x y.xml", "x-y"), ("", "machine"), ("EPYC_9654.txt", "epyc-9654")])
def test_names(text: str, name: str) -> None:
    assert make_name(text) == name


MANY_CPUS = "available: 1 nodes (0)\nnode 0 cpus: " + " ".join(map(str, range(300))) + "\nnode 0 size: 4096 MB\n"
MANY_NODES = "".join(f"node {node} cpus: {node}\nnode {node} size: 64 MB\n" for node in range(40))
WRONG = {  # text of a file: what the line says
    "hello": ("is in no format that is read", 2),
    "": ("is in no format that is read", 2),
    "<topology><object": ("is not well-formed XML", 2),
    "<html/>": ("is XML without PUs of hwloc", 2),
    "available: 2 nodes (0-1)\n": ("has no line such as 'node 0 cpus: 0 1'", 2),
    "node 0 cpus: x\n": ("node 0 cpus: 'x' is not a whole number", 2),
    "node 0 cpus: 99999\n": ("CPU 99999 is beyond 8191", 2),
    MANY_CPUS: ("has 300 CPUs, and the lab's QEMU takes 255: keep fewer with --cpus-per-node 255", 2),
    MANY_NODES: ("has 40 nodes, and the lab simulates 32 at most: choose some with --nodes LIST, as in --nodes 0-31", 2),
    NUMACTL.replace("6 7", "6 3"): ("has CPU 3 on node 0 and on node 2", 2),
    NUMACTL.replace("10   17", "10"): ("row 0 of the distances has 1 numbers for 2 nodes", 2),
    "node 0 cpus: 0\nnode 0 size: 0 MB\nnode 1 cpus:\nnode 1 size: 512 MB\n":
        ("has no node with both CPUs and memory", 2),
    "1,2\n3,4\n": ("has no nodes: give one more --from FILE", 2),
    "1,2,3\n": ("has 1 rows of up to 3 cells", 2),
    "Measuring idle latencies (in ns)...\n": ("has no matrix of mlc with numbers", 2),
    MLC.replace("140.0", "1e9", 1).replace("1e9", "99999999.0"): ("is outside 1 to 1e+06", 2),
}


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text[:20].strip() or "nothing")
def test_errors(tmp_path: Path, text: str) -> None:
    said, status = WRONG[text]
    with pytest.raises(ExperimentError) as error:
        convert("--from", write(tmp_path / "input", text))
    assert said in str(error.value) and "\n" not in str(error.value) and error.value.status == status


@pytest.mark.parametrize("nodes", ["3-", "-3", "2-1", "0,", ""])
def test_what_is_no_list_of_nodes_is_refused(tmp_path: Path, nodes: str) -> None:
    with pytest.raises(ExperimentError, match="--nodes: .* is not a list of nodes"):
        convert("--from", write(tmp_path / "numactl.txt", NUMACTL), f"--nodes={nodes}")


def test_files_of_two_machines_are_refused(tmp_path: Path) -> None:
    numactl = write(tmp_path / "numactl.txt", NUMACTL)
    with pytest.raises(ExperimentError, match=r"box.xml has nodes \[0, 1\] and numactl.txt nodes \[0, 2\]: give files of one machine"):
        convert("--from", numactl, "--from", write(tmp_path / "box.xml", make_hwloc_2()))
    with pytest.raises(ExperimentError, match="mlc.log has numbers of node 3, which numactl.txt does not have"):
        convert("--from", numactl, "--from", write(tmp_path / "mlc.log", MLC.replace("     2\t\n", "     3\t\n")))
    with pytest.raises(ExperimentError, match="c2c.csv has 3 rows, and the machine 8 CPUs on 8 cores"):
        convert("--from", numactl, "--from", write(tmp_path / "c2c.csv", "1,2,3\n1,2,3\n1,2,3\n"))


def test_what_cannot_be_read_is_an_error_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="cannot read .*missing: No such file or directory") as error:
        convert("--from", tmp_path / "missing")
    assert error.value.status == 1
    (tmp_path / "binary").write_bytes(b"BZh9\0\0")
    with pytest.raises(ExperimentError, match="is not text: unpack an archive first"):
        convert("--from", tmp_path / "binary")
    with pytest.raises(ExperimentError, match="has no devices/system/cpu with CPUs"):
        convert("--from", tmp_path)


def test_the_command_runs_the_program(tmp_path: Path) -> None:
    tool = HERE.programs / "numaplace"
    if not tool.exists() or not (HERE.programs / "numaplace-machine-from").exists():
        pytest.skip("build/numaplace is missing: make tools builds it")
    done = subprocess.run([tool, "machine", "--from", "-", "--memory=1G"], input=NUMACTL, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "") and tomllib.loads(done.stdout)["name"] == "standard-input"
    done = subprocess.run([tool, "machine", "--from", tmp_path / "none"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr.startswith("numaplace machine --from: cannot read ")
