# SPDX-License-Identifier: GPL-2.0-only
"""Installs the library into an empty folder and uses it as another program does: pkg-config, headers, exported names."""
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "Documentation/reference/library.md").read_text()
PUBLIC = "/* Public: `make install` installs it (Documentation/reference/library.md). */"
NODES = [{"id": i, "cpus": f"{2 * i}-{2 * i + 1}", "has_memory": True, "mem_total": 1 << 30, "mem_free": 1 << 29,
          "distances": [10, 21] if i == 0 else [21, 10]} for i in range(2)]
TASK = {"pid": 7, "start": 9, "comm": "away", "threads": 1, "cores": 1, "cpus": "0-1", "node": 0,
        "pages": {"1": 1024}, "file_pages": {}}
SNAPSHOT = {"snapshot": 1, "platform": "real", "tasks": [TASK], "machine": {"name": "m", "page_size": 4096, "nodes": NODES}}


def answer(*words: object, **variables: object) -> str:
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=300, check=False,
                          env=os.environ | {name: str(value) for name, value in variables.items()})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("root")
    answer("make", "-C", ROOT, "-s", "install", f"DESTDIR={folder}", "PREFIX=/usr")
    return folder / "usr"


def flags(prefix: Path, *words: str) -> list[str]:
    return answer("pkg-config", *words, "numaplace", PKG_CONFIG_SYSROOT_DIR=prefix.parent,
                  PKG_CONFIG_PATH=prefix / "lib" / "pkgconfig").split()


def headers(prefix: Path) -> list[Path]:
    return sorted(path for path in (prefix / "include" / "numaplace").glob("*.h"))


@pytest.mark.parametrize("static", [False, True])
def test_a_program_is_built_and_asks_a_policy(prefix: Path, tmp_path: Path, static: bool) -> None:
    source, snapshot = tmp_path / "plans.c", tmp_path / "ps.json"
    source.write_text(re.search(r"^```c plans.c\n(.*?)^```$", PAGE, re.M | re.S)[1])
    snapshot.write_text(json.dumps(SNAPSHOT))
    found = flags(prefix, "--cflags", "--libs", *(["--static"] if static else []))
    if static:
        found = [str(prefix / "lib" / "libnumaplace.a") if word == "-lnumaplace" else word for word in found]
    answer("cc", "-Wall", "-Wextra", "-Werror", "-o", tmp_path / "plans", source, *found)
    said = answer(tmp_path / "plans", snapshot, LD_LIBRARY_PATH="" if static else prefix / "lib")
    assert re.fullmatch(r"7 to 1: .*node 1\n", said), said
    linked = re.search(r"libnumaplace\.so\.\S+ => \S+", answer("ldd", tmp_path / "plans", LD_LIBRARY_PATH=prefix / "lib"))
    assert bool(linked) != static


def test_nothing_is_exported_but_what_the_headers_declare(prefix: Path) -> None:
    declared = set()
    for header in headers(prefix):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        text = re.sub(r"^static inline .*?^}", "", text, flags=re.S | re.M)
        objects = " ".join(re.findall(r"^extern ([^;(]*);", text, re.M))
        declared |= set(re.findall(r"\b(np_\w+)\(", text)) | set(re.findall(r"(?<!struct )\b(np_\w+)", objects))
    listed = re.findall(r" ([A-Z]) (\w+)(?:@@\S+)?$", answer("nm", "-D", "--defined-only", prefix / "lib/libnumaplace.so"), re.M)
    exported = {name for kind, name in listed if kind != "A"}
    assert {name for name in exported if not name.startswith("np_")} == set()
    assert len(exported) > 80 and exported == declared


def test_the_static_library_has_no_name_of_others(prefix: Path) -> None:
    names = set(re.findall(r" [TDBRVW] (\w+)$", answer("nm", "-g", "--defined-only", prefix / "lib/libnumaplace.a"), re.M))
    assert len(names) > 300 and {name for name in names if not name.startswith("np_")} == set()


def test_every_header_is_public_and_stands_alone(prefix: Path, tmp_path: Path) -> None:
    assert len(headers(prefix)) > 10
    for header in headers(prefix):
        assert PUBLIC in header.read_text(), header.name
        assert f"`{header.name}`" in PAGE
        (tmp_path / "one.c").write_text(f"#include <numaplace/{header.name}>\n")
        answer("cc", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", tmp_path / "one.c", *flags(prefix, "--cflags"))


def test_a_header_that_says_public_is_installed(prefix: Path) -> None:
    folders = ("policies", "userspace/lib", "experiments/lab/region")
    said = {path.name for folder in folders for path in (ROOT / folder).rglob("*.h") if PUBLIC in path.read_text()}
    assert said == {header.name for header in headers(prefix)}


def test_the_version_is_the_program_s(prefix: Path) -> None:
    version = answer(prefix / "bin" / "numaplace", "--version").split()[1]
    assert flags(prefix, "--modversion") == [version]
    assert (prefix / "lib" / "libnumaplace.so").resolve().name == f"libnumaplace.so.{version}"
