# SPDX-License-Identifier: GPL-2.0-only
"""Which QEMU the lab runs, with programs that only print a version."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from experiments.lab import exact, qemu_program, simulated
from experiments.lab.errors import UNABLE, LabError
from experiments.paths import HERE

NAME = "qemu-system-x86_64"


def write_program(folder: Path, said: str) -> str:
    folder.mkdir(parents=True)
    program = folder / NAME
    program.write_text(f"#!/bin/sh\necho '{said}'\n")
    program.chmod(0o755)
    return str(program)


@pytest.fixture
def places(tmp_path, monkeypatch) -> tuple[Path, Path]:
    """Returns folders for this machine's own program and for the unpacked one; neither is there yet."""
    own, cached = tmp_path / "own", tmp_path / "cache/numaplace/qemu/bin"
    monkeypatch.setenv("PATH", str(own))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return own, cached


@pytest.mark.parametrize("said", ["QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)", "QEMU emulator version 11.0.0"])
def test_the_machines_own_is_taken_where_it_is_new_enough(places, said):
    own, cached = places
    program = write_program(own, said)
    write_program(cached, "QEMU emulator version 10.0.2")
    assert qemu_program.find() == program


@pytest.mark.parametrize("said", ["QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7)", "QEMU emulator version 9.2.0", "no", None])
def test_the_unpacked_one_is_taken_where_the_machines_own_is_too_old_or_there_is_none(places, said):
    own, cached = places
    if said:
        write_program(own, said)
    program = write_program(cached, "QEMU emulator version 10.0.2")
    assert qemu_program.find() == program


@pytest.mark.parametrize("said, fault", [(None, "is not installed"), ("QEMU emulator version 7.2.22", "is version 7.2.22")])
def test_without_one_a_line_says_what_to_do(places, said, fault):
    if said:
        write_program(places[0], said)
    with pytest.raises(LabError) as caught:
        qemu_program.find()
    assert caught.value.status == UNABLE
    assert str(caught.value) == f"{NAME} {fault}, and the lab's machine runs in version 10.0 or newer: run make setup"


@pytest.mark.parametrize("said, full, short", [
    ("QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2+deb13u1)", "10.0.2", (10, 0)),
    ("QEMU emulator version 9.1.50 (v9.1.0-1)", "9.1.50", (9, 1)),
    ("another program", "0.0", (0, 0)),
])
def test_version(tmp_path, said, full, short):
    program = write_program(tmp_path / "any", said)
    assert qemu_program.read_full_version(program) == full
    assert qemu_program.read_version(program) == short


def test_set_up_asks_for_the_same_version():
    script = (HERE.sources / "setup/qemu").read_text(encoding="utf-8")
    assert qemu_program.OLDEST == (int(re.search(r"^OLDEST=(\d+) ", script, re.MULTILINE)[1]), 0)


def test_the_starter_finds_the_data_beside_it_wherever_it_is(tmp_path):
    """The starter that set-up writes, moved: it names the folders of the program that it starts."""
    script = (HERE.sources / "setup/qemu").read_text(encoding="utf-8")
    write = re.search(r"^write_starter\(\) \{\n.*?^\}\n", script, re.MULTILINE | re.DOTALL)[0]
    (tmp_path / "new").mkdir()
    subprocess.run(["sh", "-euc", f'NAME={NAME}\n{write}write_starter "$1"', "sh", tmp_path / "new"], check=True)
    real = Path(write_program(tmp_path / "new/usr/bin", ""))
    real.write_text('#!/bin/sh\necho "$QEMU_MODULE_DIR"\nprintf "%s\\n" "$@"\n')
    moved = shutil.move(tmp_path / "new", tmp_path / "a place")
    link = tmp_path / NAME
    link.symlink_to(moved / "bin" / NAME)
    said = subprocess.run([link, "-name", "two words"], capture_output=True, text=True, check=True).stdout.splitlines()
    folders = [Path(line).resolve().relative_to(moved) for line in (said[0], said[2], said[4], said[6])]
    assert list(map(str, folders)) == ["usr/lib/x86_64-linux-gnu/qemu", "usr/share/qemu", "usr/share/seabios", "usr/lib/ipxe/qemu"]
    assert said[7:] == ["-name", "two words"]


@pytest.mark.parametrize(("version", "plugin", "repeats"), [("10.0.13", "plugin.so", True), ("11.0.2", "plugin.so", False),
                                                             ("11.1.3", "plugin-7.so", False)])
def test_a_qemu_gets_the_plugin_of_its_interface(tmp_path, version, plugin, repeats):
    program = write_program(tmp_path / "bin", f"QEMU emulator version {version}")
    assert simulated.get_plugin(program).name == plugin
    if repeats:
        exact.check_qemu(program)
        return
    with pytest.raises(LabError, match=f"QEMU {version} does not repeat a run exactly"):
        exact.check_qemu(program)
