# SPDX-License-Identifier: GPL-2.0-only
"""MACHINES.toml: what it may have, and what is said of what it may not."""

from pathlib import Path

import pytest

from experiments.commands.campaign import machines
from experiments.errors import UsageError


def read(folder: Path, text: str) -> list[machines.Machine]:
    (folder / "m.toml").write_text(text, encoding="utf-8")
    return machines.read_machines(folder / "m.toml")


def test_each_kind_of_machine_has_its_command(tmp_path: Path) -> None:
    here, there, given = read(tmp_path, '[here]\n["box 1"]\nhost = "box1"\nssh = ["-p", "2222"]\nlab = "demo-2s"\n'
                                        '[given]\nslurm = ["--partition=numa"]\n')
    assert (here.remote, here.host_name, there.host_name, given.host_name) == (False, "", "box1", "given")
    words = there.list_command(["sh", "a b"], "job")
    assert words[:4] == ["ssh", "-oBatchMode=yes", "-p", "2222"] and words[-2:] == ["box1", "sh 'a b'"]
    assert given.list_command(["sh"], "job") == ["srun", "--exclusive", "--ntasks=1", "--job-name=job", "--partition=numa", "sh"]


@pytest.mark.parametrize(("text", "said"), [
    ("", "names no machine"),
    ("[a", "m.toml: "),
    ('a = "box"', "'a' is no machine"),
    ('["a/b"]', "'a/b' is no machine"),
    ('["a@b"]', "'a@b' is no machine"),
    ('["."]', "'.' is no machine"),
    ('[a]\nhots = "b"', "[a] has 'hots': it takes host, "),
    ("[a]\nhost = 1", "[a] host is not a text"),
    ('[a]\nssh = "-p 22"', "[a] ssh is not a list of texts"),
    ('[a]\nhost = ""', "[a] host is empty"),
    ('[a]\nhost = "b"\nslurm = ["-N1"]', "[a] has host and slurm"),
    ('[a]\nssh = ["-v"]', "[a] has ssh and no host"),
    ('[a]\nprogram = "p"', "[a] has program and no host"),
])
def test_what_is_wrong_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        read(tmp_path, text)
    assert said in str(error.value) and str(tmp_path / "m.toml") in str(error.value)
    assert "\n" not in str(error.value)
