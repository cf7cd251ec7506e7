# SPDX-License-Identifier: GPL-2.0-only
"""Programs to be placed and the command line, for the tests in this folder."""
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from placed import Target, Tool, is_module_loaded  # noqa: E402

NOBODY = 65534


@pytest.fixture
def tool() -> Iterator[Tool]:
    yield Tool()
    Tool().run("restore", "--all")


@pytest.fixture
def plain(tool: Tool) -> Tool:
    """Without --override, the default."""
    return Tool(override=False)


@pytest.fixture
def start_target() -> Iterator[Callable[..., Target]]:
    started: list[Target] = []

    def start(cpus: int = 1, memory: int = 1, **kwargs) -> Target:
        started.append(Target(cpus, memory, **kwargs))
        return started[-1]

    yield start
    for target in started:
        target.end()


@pytest.fixture(params=["module", pytest.param("syscall", marks=pytest.mark.full("the same by system calls, which some tests of each command name"))])
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "module":
        assert is_module_loaded(), "the lab did not load the module"
    return request.param


@pytest.fixture
def module() -> None:
    assert is_module_loaded(), "the lab did not load the module"


@pytest.fixture
def nobody() -> Iterator[dict]:
    """Arguments of Popen for an unprivileged user with a runtime folder."""
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, NOBODY, NOBODY)
        yield {"user": NOBODY, "group": NOBODY, "extra_groups": [],
               "env": {**os.environ, "XDG_RUNTIME_DIR": folder}}
