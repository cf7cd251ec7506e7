# SPDX-License-Identifier: GPL-2.0-only
"""numaplace machine --plugin: what the plugin of the lab's QEMU is told, beside the golden output of one machine."""

import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
DEMO = (ROOT / "experiments/lab/machines/demo-2s.toml").read_text(encoding="utf-8")


def machine(path: Path, text: str, *options: str) -> subprocess.CompletedProcess:
    path.write_text(text, encoding="utf-8")
    return subprocess.run([ROOT / "build/numaplace", "machine", *options, path], capture_output=True, text=True, check=False)


def without(table: str) -> str:
    """The demo's file without the tables of that name and what is below them."""
    return re.sub(rf"^\[+{table}\b.*?(?=^\[|\Z)", "", DEMO, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("table", ["model", "cache"])
def test_machine_plugin_refuses_what_cannot_be_simulated_neg(table: str, tmp_path: Path) -> None:
    done = machine(tmp_path / "m.toml", without(table), "--plugin")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ("numaplace: machine 'demo-2s' has no [model] or no [[cache]], so its time cannot be "
                           "simulated\n")
    assert json.loads(machine(tmp_path / "m.toml", without(table), "--json").stdout)["plugin"] == ""


def test_machine_plugin_has_the_levels_that_there_are(tmp_path: Path) -> None:
    """The highest one is the last, whatever its number; the second is left out where there is none."""
    text = DEMO.replace("level = 2", "level = 4")
    lines = machine(tmp_path / "m.toml", text, "--plugin").stdout.splitlines()
    caches = [line for line in lines if re.match("(line|l1|l2|llc)=", line)]
    (size, latency), = re.findall(r'level = 4\nsize = "(\d+) KiB".*?latency_ns = (\d+)', text, re.DOTALL)
    assert [line.partition("=")[0] for line in caches] == ["line", "l1", "llc"]
    assert caches[2].split()[0] == f"llc={int(size) << 10}" and caches[2].split()[2] == latency
    assert "llc_cpus=1" in lines, "of each CPU"
    assert not any("llc_cpus" in line for line in machine(tmp_path / "m.toml", DEMO, "--plugin").stdout.splitlines()), "of the node"
