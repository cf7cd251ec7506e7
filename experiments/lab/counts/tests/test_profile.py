# SPDX-License-Identifier: GPL-2.0-only
import pytest

from experiments.lab.counts import maps, metrics, profile, where
from experiments.lab.counts.profile import Refused, Selection
from experiments.lab.counts.tests import written


@pytest.fixture
def found(tmp_path) -> profile.Profile:
    return profile.read_profile(written.write_profile(tmp_path))


def test_the_commands_processes_are_what_it_became_and_made(found):
    assert found.processes == {10, 11}


def test_metrics_are_of_the_commands_user_code(found):
    measured = metrics.compute_metrics(found, Selection())
    assert measured.dram == (45, 60)
    assert measured.remote_dram == 40 + 5  # of CPU 0 on node 0 and of CPU 3 on node 1
    assert measured.remote_share == pytest.approx(45 / 105)
    assert (measured.loads, measured.stores, measured.remote_cache) == (601, 181, 4)
    # Of process 10 a page of node 0 and two of node 1; the child's page is one more.
    assert measured.pages == (1, 3)


def test_a_region_has_the_accesses_of_all_threads_meanwhile(found):
    measured = metrics.compute_metrics(found, Selection(region="scan"))
    assert measured.dram == (15, 40)
    assert measured.loads == 500


def test_a_cgroup_has_those_below_it(found):
    assert metrics.compute_metrics(found, Selection(cgroup="/numaplace-lab/mine")).dram == (0, 20)
    assert metrics.compute_metrics(found, Selection(cgroup="numaplace-lab/")).dram == (45, 60)
    assert metrics.compute_metrics(found, Selection(region="scan", cgroup="/numaplace-lab/mine")).dram == (0, 0)


@pytest.mark.parametrize(("selection", "message"), [
    (Selection(region="never"), "the region 'never' was never entered, these were: scan"),
    (Selection(cgroup="/numaplace"), "there was no cgroup '/numaplace' in the machine"),
])
def test_what_was_not_there_is_refused(found, selection, message):
    with pytest.raises(Refused, match=message):
        metrics.compute_metrics(found, selection)


def test_a_profile_without_an_end_is_refused(tmp_path):
    with pytest.raises(Refused, match="have no end"):
        profile.read_profile(written.write_profile(tmp_path, written.TEXT.removesuffix("end\n")))
    with pytest.raises(Refused, match="have no task"):
        profile.read_profile(written.write_profile(tmp_path, "end\n"))


def test_mappings_have_their_kinds(found):
    own = maps.build_maps(found)[10]
    kinds = {address: own.find_mapping(address).kind for address in (
        0x555555554000, 0x555555555000, 0x555555557000, 0x555555558000, 0x55555555a000, 0x7ffff7001000)}
    assert list(kinds.values()) == ["file", "code", "data", "bss", "heap", "anonymous"]
    assert own.find_mapping(0x7ffff7000000).name == "/with a blank/file"
    assert own.find_mapping(0x7ffff7001000).bytes == 10 << 20
    assert own.find_mapping(0x1000) is None


def test_a_child_has_its_parents_mappings(found):
    assert str(maps.build_maps(found)[11].find_mapping(0x7ffff7003000)).startswith("anonymous mapping, 10.0 MiB")


def test_what_is_mapped_over_replaces_and_exec_drops(tmp_path):
    text = written.TEXT.replace("end\n", "note 40 mmap 10 0x555555555000 4096 0 3 //anon\nnote 41 exec 11 other\nend\n")
    found = maps.build_maps(profile.read_profile(written.write_profile(tmp_path, text)))
    assert found[10].find_mapping(0x555555555000).name == maps.ANONYMOUS
    after = found[10].find_mapping(0x555555556000)
    assert (after.kind, after.offset) == ("code", 8192)
    assert found[11].find_mapping(0x7ffff7003000) is None


def test_remote_accesses_by_mapping_and_function(found):
    remote = where.find_remote(found, Selection())
    assert [(p.lines, p.nodes, p.what.kind) for p in remote.mappings] == [(30, (0, 1), "anonymous"), (15, (1,), "heap")]
    assert [(p.lines, p.what.name) for p in remote.functions] == [(25, "+0x1010"), (15, "+0x2000"), (5, "+0x1020")]
    assert remote.lines == 45
    assert remote.unnamed == "/no/program"
