# SPDX-License-Identifier: GPL-2.0-only
"""Folders of runs that were killed go with the next run; those of live runs stay."""

import os
import shutil
import subprocess
import sys
import tempfile
import time

import pytest

from experiments.lab import run_folder
from experiments.lab.errors import UNABLE, LabError
from experiments.paths import HERE

HOLD = "from experiments.lab.run_folder import make_run_folder\nwith make_run_folder() as f:\n print(f, flush=True); input()"


@pytest.fixture(name="holder")
def holder_fixture(tmp_path):
    """Starts another process in the middle of a run, with its folder; old enough to be looked at."""
    process = subprocess.Popen([sys.executable, "-c", HOLD], cwd=HERE.code, env=os.environ | {"TMPDIR": str(tmp_path)},
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    folder = tmp_path / os.path.basename(process.stdout.readline().strip())
    long_ago = time.time() - 2 * run_folder.YOUNG
    os.utime(folder, (long_ago, long_ago))
    yield process, folder
    process.kill()
    process.wait()


def test_folder_of_a_live_run_stays(holder, tmp_path):
    _, folder = holder
    run_folder.remove_left_folders(tmp_path)
    assert folder.is_dir()


def test_folder_of_a_killed_run_goes(holder, tmp_path):
    process, folder = holder
    process.kill()
    process.wait()
    assert folder.is_dir()
    run_folder.remove_left_folders(tmp_path)
    assert not folder.exists()


def test_folder_of_a_run_that_ends_goes(holder):
    process, folder = holder
    process.communicate("\n")
    assert not folder.exists()


def test_a_named_temporary_folder_that_is_missing_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", f"{tmp_path}/nowhere")
    with pytest.raises(LabError, match=f"TMPDIR is '{tmp_path}/nowhere'") as caught, run_folder.make_run_folder():
        pass
    assert caught.value.status == UNABLE


def test_no_temporary_folder_is_one_line(monkeypatch):
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/proc/nowhere"])
    with pytest.raises(LabError, match="set TMPDIR to one that can") as caught, run_folder.make_run_folder():
        pass
    assert caught.value.status == UNABLE


def test_a_full_disk_is_found_before_anything_is_written(monkeypatch, tmp_path):
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = shutil.disk_usage(tmp_path)._replace(free=run_folder.NEEDED - 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: left)
    with pytest.raises(LabError, match=f"No space left in '{tmp_path}'") as caught, run_folder.make_run_folder():
        pass
    assert caught.value.status == UNABLE
    assert list(tmp_path.iterdir()) == []
