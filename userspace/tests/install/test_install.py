# SPDX-License-Identifier: GPL-2.0-only
"""`make install` into an empty folder is enough to work with, and `make uninstall` takes it back."""
import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def make(goal: str, root: Path) -> None:
    done = subprocess.run(["make", "-C", ROOT, "-s", goal, f"DESTDIR={root}", "PREFIX=/usr"],
                          capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def files(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make("install", tmp_path)
    return tmp_path


def test_the_machines_of_the_lab_are_there(root: Path) -> None:
    done = subprocess.run([root / "usr" / "bin" / "numaplace", "predict", "--machine", "demo-2s", "--random", "2",
                           "--policy", "none"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and "demo-2s" in done.stdout, done


def test_the_service_finds_its_options(root: Path) -> None:
    """Those of an earlier installation are kept."""
    unit = (root / "usr" / "lib" / "systemd" / "system" / "numaplace.service").read_text()
    options = root / "etc" / "numaplace" / "daemon.conf"
    assert "--options /etc/numaplace/daemon.conf" in unit and options.exists()
    options.write_text("policy=none\n")
    make("install", root)
    assert options.read_text() == "policy=none\n"


def installed(root: Path, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Nothing of the tree is named in the environment."""
    return subprocess.run([root / "usr/bin/numaplace", *words], capture_output=True, text=True, timeout=120, cwd=cwd,
                          env={"PATH": os.environ["PATH"], "HOME": str(cwd), "LANG": "C.UTF-8"}, check=False)


def test_python_programs_run_without_the_tree(root: Path, tmp_path: Path) -> None:
    """Also beside a folder that has the name of their package."""
    (tmp_path / "experiments").mkdir()
    done = installed(root, "lab", "list", cwd=tmp_path)
    assert done.returncode == 0 and "demo-2s" in done.stdout, done
    done = installed(root, "lab", "run", "--machine", "demo-2s", "--", "true", cwd=tmp_path)
    assert done.returncode == 3 and "run numaplace lab setup --kernel 6.12" in done.stderr, done
    code = "import experiments.paths as p; print(p.HERE.code); print(all(f.exists() for f in (p.HERE.plugin, p.HERE.model)))"
    done = subprocess.run(["/usr/bin/python3", "-P", "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path,
                          env={"PYTHONPATH": str(root / "usr/lib/numaplace/python")})
    assert done.stdout == f"{root}/usr/lib/numaplace/python\nTrue\n"


@pytest.mark.parametrize("tree", [False, True])
def test_a_wheel_takes_what_belongs_to_the_program_on_the_path(root: Path, tmp_path: Path, tree: bool) -> None:
    """In a folder of packages like that of any Python environment."""
    packages = tmp_path / "venv/lib/python3/site-packages"
    shutil.copytree(root / "usr/lib/numaplace/python", packages)
    programs = ROOT / "build" if tree else root / "usr/bin"
    code = "from experiments.paths import HERE; print(HERE.code, HERE.programs, HERE.model, HERE.sources / 'KERNELS', sep='\\n')"
    done = subprocess.run(["/usr/bin/python3", "-P", "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path,
                          env={"PYTHONPATH": str(packages), "PATH": str(programs)})
    places = done.stdout.splitlines()
    assert places[:2] == [str(packages), str(programs)]
    assert all(Path(place).exists() for place in places), places
    done = subprocess.run(["/usr/bin/python3", "-P", "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path,
                          env={"PYTHONPATH": str(packages), "PATH": "/nowhere"})
    assert done.stdout.split()[1] == "/usr/bin", "named in errors where there is no program"


def test_missing_package_is_one_line(root: Path, tmp_path: Path) -> None:
    """A Python without the packages of the distribution: -S leaves them out."""
    code = root / "usr/lib/numaplace/python"
    entry = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]["numaplace-experiment"]
    done = subprocess.run(["/usr/bin/python3", "-S", "-P", "-m", "experiments.start", entry, "report", "x"],
                          capture_output=True, text=True, check=False, env={"PYTHONPATH": str(code)}, cwd=tmp_path)
    assert done.returncode == 3 and done.stderr.count("\n") == 1 and "apt-get install python3-" in done.stderr, done


def test_uninstall_leaves_the_options_alone(root: Path) -> None:
    other = root / "usr" / "bin" / "other"
    other.touch()
    make("uninstall", root)
    assert files(root) == ["etc/numaplace/daemon.conf", "usr/bin/other"]
