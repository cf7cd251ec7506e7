# SPDX-License-Identifier: GPL-2.0-only
"""The machines that hwloc's own tests have, trees of /sys and XML: each becomes a machine file, or one line says why not."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from experiments.commands.machine_from import cli
from experiments.errors import ExperimentError
from experiments.paths import HERE
from tests import building

TESTS = "tests/hwloc"
LEAST = {"linux": 40, "xml": 30}  # machines of hwloc 2.9


def unpack(archive: Path, folder: Path) -> None:
    subprocess.run(["tar", "--no-same-owner", "-xf", archive, "-C", folder], check=True)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked tests of hwloc's source package."""
    folder = tmp_path_factory.mktemp("hwloc")
    try:
        done = subprocess.run(["apt-get", "source", "--download-only", "hwloc"], cwd=folder, capture_output=True, text=True, timeout=300,
                              check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"the source package of hwloc cannot be fetched: {error}")
    archives = list(folder.glob("hwloc_*.orig.tar.*"))
    if not archives:
        said = done.stderr.strip().splitlines()[-1:]
        pytest.skip(f"the source package of hwloc cannot be fetched: {said}; add deb-src to apt's sources")
    unpack(archives[0], folder)
    return next(folder.glob(f"*/{TESTS}"))


def list_machines(kind: str, sources: Path, folder: Path) -> list[Path]:
    if kind == "xml":
        return sorted((sources / "xml").glob("*.xml"))
    for file in (sources / "linux").glob("*.tar.bz2"):
        unpack(file, folder)
    return sorted(path for path in folder.iterdir() if path.is_dir())


@pytest.mark.full("fetches the source package of hwloc")
@pytest.mark.parametrize("kind", LEAST)
def test_machines_of_hwloc(kind: str, sources: Path, tmp_path: Path) -> None:
    building.build("build/numaplace")
    counts: Counter[str] = Counter()
    (tmp_path / "trees").mkdir()
    for machine in list_machines(kind, sources, tmp_path / "trees"):
        try:
            text, _ = cli.convert(["--from", str(machine)])
        except ExperimentError as error:
            counts["refused"] += 1
            assert "\n" not in str(error) and machine.name in str(error)
            print(f"{kind} {error}")
            continue
        (tmp_path / "own.toml").write_text(text)
        done = subprocess.run([HERE.programs / "numaplace", "machine", tmp_path / "own.toml"], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), machine
        counts["machines"] += 1
    print(f"{kind}: {dict(counts)}", file=sys.stderr)
    assert counts["machines"] >= LEAST[kind]
