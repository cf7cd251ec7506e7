# SPDX-License-Identifier: GPL-2.0-only
"""The Action's file and the command of its step. `make check-image` runs that command on the image."""

import json
import re
from pathlib import Path

import pytest

from tests import action

GIVEN = {"image": "registry.example/numaplace-lab:6.12", "run": "./test one\n./test 'two words'"}
COMMAND = ["bash", "-euo", "pipefail", "-c", GIVEN["run"]]
RECORDER = """\
#!/usr/bin/env python3
import json, pathlib, sys
pathlib.Path(__file__).with_name("arguments").write_text(json.dumps(sys.argv[1:]))
sys.exit(7)
"""


def podman_is_told(folder: Path, given: dict[str, str]) -> list[str]:
    """The arguments of a program in podman's place, whose status becomes that of the step."""
    recorder = folder / "podman"
    recorder.write_text(RECORDER, encoding="utf-8")
    recorder.chmod(0o755)
    assert action.run_step(GIVEN | given, str(folder), cwd=folder).returncode == 7
    return json.loads((folder / "arguments").read_text(encoding="utf-8"))


def test_what_the_container_may(tmp_path: Path) -> None:
    told = podman_is_told(tmp_path, {})
    options = told[:told.index(GIVEN["image"])]
    assert options == ["run", "--rm", "--network", "none", "--read-only", "--cap-drop", "all", "--tmpfs", "/tmp",
                       "-v", f"{tmp_path}:/w"]


@pytest.mark.parametrize(("given", "options"), [
    ({}, ["--machine", "2x2"]),
    ({"machine": "my machine.toml"}, ["--machine", "my machine.toml"]),
    ({"fail-if": "remote_share > 10%", "region": "a b"},
     ["--machine", "2x2", "--count", "--fail-if", "remote_share > 10%", "--region", "a b"]),
    ({"junit": "r.xml", "annotate": "true"}, ["--machine", "2x2", "--junit", "r.xml", "--annotate"]),
    ({"annotate": "false"}, ["--machine", "2x2"]),
])
def test_what_the_lab_is_told(tmp_path: Path, given: dict[str, str], options: list[str]) -> None:
    told = podman_is_told(tmp_path, given)
    assert told[told.index(GIVEN["image"]) + 1:] == ["lab", "run", *options, "--", *COMMAND]


def test_every_input_is_used_and_described() -> None:
    inputs = action.read_description()["inputs"]
    assert set(inputs) == set(action.INPUT.findall(" ".join(action.read_step()["env"].values())))
    for name, entry in inputs.items():
        assert set(entry) in ({"description", "required"}, {"description", "default"}), name
    # Text of a workflow's author is never a part of the script itself.
    assert not re.search(r"\$\{\{", action.read_step()["run"])


def test_a_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match="no input machin"):
        action.make_environment(GIVEN | {"machin": "demo-2s"})
    with pytest.raises(KeyError):
        action.make_environment({"image": "x"})
