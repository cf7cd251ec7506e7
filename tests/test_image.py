# SPDX-License-Identifier: GPL-2.0-only
"""What make image and make check-image refuse. `make check-image` runs the image itself."""

import os
import subprocess
from pathlib import Path

import pytest

SETUP = Path(__file__).resolve().parents[1] / "setup"


@pytest.mark.parametrize(("script", "arguments", "status", "message"), [
    ("image", ["5.4", "out"], 2, "there is no kernel series '5.4': known are 6.1 6.12"),
    ("image", ["6.12"], 2, "usage: image SERIES FOLDER"),
    ("check-image", [], 2, "usage: check-image FOLDER"),
    ("check-image", ["."], 1, "numaplace-lab.oci.tar is not there: run sudo make image"),
])
def test_what_cannot_be_is_one_line(tmp_path: Path, script: str, arguments: list[str], status: int, message: str) -> None:
    done = subprocess.run([SETUP / script, *arguments], cwd=tmp_path, env=os.environ | {"XDG_CACHE_HOME": str(tmp_path)},
                          capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (status, "", 1), done.stderr
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []
