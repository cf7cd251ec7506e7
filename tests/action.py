# SPDX-License-Identifier: GPL-2.0-only
"""setup/action/action.yml as a runner of GitHub reads it: `python -m tests.action INPUT=VALUE..` runs its step."""

import os
import re
import subprocess
import sys
from pathlib import Path

import yaml

FILE = Path(__file__).resolve().parents[1] / "setup/action/action.yml"
INPUT = re.compile(r"\$\{\{ inputs\.([\w-]+) \}\}")


def read_description() -> dict:
    return yaml.safe_load(FILE.read_text(encoding="utf-8"))


def read_step() -> dict:
    [only] = read_description()["runs"]["steps"]
    return only


def make_environment(given: dict[str, str]) -> dict[str, str]:
    """Of its step. An input that is neither given nor has a default is an error, and so is one that it does not have."""
    inputs = read_description()["inputs"]
    if unknown := given.keys() - inputs.keys():
        raise ValueError(f"the Action has no input {', '.join(sorted(unknown))}")
    values = {name: given[name] if name in given else entry["default"] for name, entry in inputs.items()}
    return {name: INPUT.sub(lambda match: values[match[1]], text) for name, text in read_step()["env"].items()}


def run_step(given: dict[str, str], path: str | None = None, **more) -> subprocess.CompletedProcess:
    """With the options that GitHub gives to bash; `path`: where its podman is looked for first."""
    env = os.environ | make_environment(given)
    env["PATH"] = os.pathsep.join([*[path] * bool(path), os.environ["PATH"]])
    return subprocess.run([read_step()["shell"], "--noprofile", "--norc", "-eo", "pipefail", "-c", read_step()["run"]],
                          env=env, check=False, **more)


if __name__ == "__main__":
    sys.exit(run_step(dict(word.split("=", 1) for word in sys.argv[1:])).returncode)
