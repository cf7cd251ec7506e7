# SPDX-License-Identifier: GPL-2.0-only
"""The commands that plan: their tables, their options, their errors."""
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests import building

ROOT = Path(__file__).resolve().parents[3]
TOOL = ROOT / "build" / "numaplace"
POLICIES = [name.replace("_", "-") for name in
            re.findall(r"^POLICY\((\w+)\)", (ROOT / "policies/plan/policies.def").read_text(encoding="ascii"), re.M)]


@pytest.fixture(scope="session")
def tool() -> Path:
    building.build("build/numaplace")
    return TOOL


def run(tool: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([tool, *words], capture_output=True, text=True, timeout=60, check=False)


def test_policies_prints_every_option(tool: Path) -> None:
    policies = json.loads(run(tool, "policies", "--json").stdout)["policies"]
    assert [p["name"] for p in policies] == POLICIES
    text = run(tool, "policies").stdout
    for policy in policies:
        assert policy["summary"] in text and policy["origin"] in text
        for option in policy["options"]:
            assert f"-o {option['name']}=" in text and option["meaning"] in text
            assert {"type", "default", "unit"} <= option.keys()


@pytest.mark.parametrize("command", ["plan", "apply", "run"])
@pytest.mark.parametrize(("words", "message"), [
    ([], "no policy; say --policy and one of {names}"),
    (["-p", "nmass", "1"],
     'no policy "nmass"; use one of {names}'),
    (["-p", "n-mass", "-o", "pages=go", "1"],
     'option pages of policy n-mass cannot be "go": use follow, stay'),
    (["-p", "none", "--nothing"], "{command}: no option \"--nothing\"; "
     "see numaplace {command} --help"),
    (["-p", "none", "--sample", "-1", "1"], '--sample "-1" is not a time from 0 to 60s, such as 500us, 20ms or 2s'),
])
def test_wrong_words(tool: Path, command: str, words: list[str], message: str) -> None:
    done = run(tool, command, *words)
    assert (done.returncode, done.stdout) == (2, "")
    message = message.format(command=command, names=", ".join(POLICIES))
    assert done.stderr == f"numaplace: {message}\n"


@pytest.mark.parametrize("command", ["plan", "apply"])
def test_wrong_pids(tool: Path, command: str) -> None:
    assert run(tool, command, "-p", "none").stderr == \
        f"numaplace: {command}: no process id; `numaplace ps` lists the processes\n"
    done = run(tool, command, "-p", "none", "12x")
    assert done.returncode == 2 and done.stderr.count("\n") == 1


@pytest.mark.skipif(Path("/sys/devices/system/node/node1").exists(), reason="has several nodes")
@pytest.mark.parametrize("words", [["plan", str(os.getpid())], ["apply", str(os.getpid())],
                                   ["run", "--", "true"]])
def test_a_machine_with_one_node(tool: Path, words: list[str]) -> None:
    done = run(tool, words[0], "-p", "maximum-local", *words[1:])
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.count("\n") == 1 and "has one node" in done.stderr
    assert "numaplace lab run" in done.stderr
