# SPDX-License-Identifier: GPL-2.0-only
"""What of the daemon, of cgroups and of saved plans can be tested on a machine of one node."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests import building

ROOT = Path(__file__).resolve().parents[3]
TOOL = ROOT / "build" / "numaplace"
UNIT = ROOT / "userspace" / "numaplace.service"
ONE_NODE = not Path("/sys/devices/system/node/node1").exists()


@pytest.fixture(scope="module")
def tool() -> Path:
    building.build("build/numaplace")
    return TOOL


def fails(tool: Path, *words: object) -> tuple[int, str]:
    done = subprocess.run([tool, *map(str, words)], capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.stdout == "" and done.stderr.count("\n") == 1, done
    return done.returncode, done.stderr.removeprefix("numaplace: ").strip()


@pytest.mark.parametrize(("words", "why"), [
    (["--interval", "1x"], '--interval "1x" is not a time from 10ms to 3600s'),
    (["--hysteresis", "0"], '--hysteresis "0" is less than 1'),
    (["--min-gain", "-1"], '--min-gain "-1" is not a number from 0 to 1000'),
    (["--assume", "penalty=x"], 'assumption "penalty=x" is not penalty=P,mpki=M'),
    (["--cgroup", "/a", "1"], "name either processes or a cgroup"),
    (["--json"], 'no option "--json"'),
    (["-o", "speed=1"], "has no option"),
])
def test_wrong_words(tool: Path, words: list[str], why: str) -> None:
    status, line = fails(tool, "daemon", "--policy", "maximum-local", *words)
    assert status == 2 and why in line


def test_options_file(tool: Path, tmp_path: Path) -> None:
    """The example is understood; a wrong line is told as on the command line."""
    if ONE_NODE:
        status, line = fails(tool, "daemon", "--options", ROOT / "userspace" / "daemon.conf")
        assert status == 3 and "has one node" in line
    wrong = tmp_path / "daemon.conf"
    wrong.write_text("policy=none\nhysteresi=\n")
    assert fails(tool, "daemon", "--options", wrong)[0] == 2
    assert "cannot be read" in fails(tool, "daemon", "--options", tmp_path / "none")[1]


@pytest.mark.parametrize("line", ["help", "usage", "version", "V", "H", "HANG=9"])
def test_options_file_has_the_daemon_s_options_only(tool: Path, tmp_path: Path, line: str) -> None:
    """Not those that argp has beside them, which print, end or stop the program."""
    (tmp_path / "daemon.conf").write_text(f"policy=none\n{line}\n")
    status, said = fails(tool, "daemon", "--options", tmp_path / "daemon.conf")
    assert status == 2 and said.startswith(f'daemon: no option "--{line}"')


def test_unit_file(tool: Path, tmp_path: Path) -> None:
    verify = shutil.which("systemd-analyze")
    if not verify:
        pytest.skip("no systemd-analyze here")
    unit = tmp_path / UNIT.name
    program = tmp_path / "numaplace"  # a unit takes no path with blanks
    program.symlink_to(tool)
    unit.write_text(UNIT.read_text().replace("/usr/local/bin/numaplace", str(program)))
    done = subprocess.run([verify, "verify", "--man=no", unit], capture_output=True, text=True,
                          check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_unit_is_confined() -> None:
    """systemd's own judgement, from 0 (safe) to 100; what the unit must have is in its comment."""
    analyze = shutil.which("systemd-analyze")
    if not analyze:
        pytest.skip("no systemd-analyze here")
    done = subprocess.run([analyze, "security", "--offline=yes", "--no-pager", "--threshold=35", UNIT],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_over_real_processes() -> None:
    """The bench's daemon: every task is found and counted, and rest costs no plan."""
    building.build("build/tests/bench_daemon")
    done = subprocess.run([ROOT / "build/tests/bench_daemon", "20", "3", "100", "busy", "metrics"],
                          capture_output=True, text=True, timeout=120, check=True)
    first, _, rest = done.stdout.partition("\n")
    then, _, page = rest.partition("\n")
    assert first.startswith("20 tasks watched, 20 eligible")
    assert re.search(r"[\d.]+ ms CPU an interval .* in 3 intervals", then)
    families = {family.name: family for family in text_string_to_metric_families(page)}
    assert all(family.documentation and family.type != "unknown" for family in families.values())
    assert families["numaplace_daemon_watched_tasks"].samples[0].value == 20
    assert {sample.labels["verdict"] for sample in families["numaplace_daemon_decisions"].samples} \
        == {"act", "small_gain", "not_steady", "left_alone", "done", "taken_back"}


def test_no_such_cgroup(tool: Path) -> None:
    status, line = fails(tool, "plan", "--policy", "none", "--cgroup", "/no/such")
    if "cgroup2" not in Path("/proc/mounts").read_text():
        assert status == 3 and "mount -t cgroup2" in line
    else:
        assert status == 1 and 'no cgroup "/no/such"' in line
        assert "no cgroup" in fails(tool, "plan", "--policy", "none", "--cgroup", "/../..")[1]


def test_a_plan_is_applied_and_shown_alone(tool: Path) -> None:
    assert fails(tool, "apply", "--plan", "-", os.getpid())[0] == 2
    assert fails(tool, "plan", "--show", "-", "--policy", "none")[0] == 2
    for words in (["-o", "pages=stay"], ["--least-gain", "1.5"], ["-M", "x.toml"]):
        assert fails(tool, "apply", "--plan", "-", *words)[0] == 2
        assert fails(tool, "plan", "--show", "-", *words)[0] == 2
    assert "give one of them" in fails(tool, "daemon", "--policy", "none", "--leave", "--pages")[1]
