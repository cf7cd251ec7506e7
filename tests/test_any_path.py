# SPDX-License-Identifier: GPL-2.0-only
"""A clone may lie below a folder that only its owner may enter, on a path with blanks."""

import os
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[1]
# Those that run programs of the tree as another user.
AFFECTED = ("test_not_permitted_says_whose", "test_users_place_their_own", "test_run_goes_on_without_a_child",
            "test_no_right_to_touch_a_task", "test_what_the_module_placed_is_not_denied",
            "test_those_of_a_cgroup_that_may_not")


@pytest.mark.lab
def test_the_tree_is_tested_on_a_closed_path_with_blanks(tmp_path):
    place = tmp_path / "closed folder" / "numa place"
    place.mkdir(parents=True)
    place.parent.chmod(0o700)
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    script = ('mount --bind "$0" "$1" && cd "$1" && mkdir -p build/any-path && NUMAPLACE_REPORTS="$1/build/any-path" '
              'exec .venv/bin/python -m pytest -q -p no:cacheprovider -p no:xdist tests/guest.toml::6.12-tools -k "$2"')
    done = subprocess.run(["unshare", *user, "--mount", "sh", "-c", script, TOP, place, " or ".join(AFFECTED)],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "7 passed" in done.stdout
