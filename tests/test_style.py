# SPDX-License-Identifier: GPL-2.0-only
"""The tools of `make style` have nothing to say of this tree, and each finds a fault that is planted."""

import shutil
from pathlib import Path

import pytest

from tests import style

ROOT = Path(__file__).parents[1]
OPTIONS = [".clang-format", ".checkpatch.conf", "pyproject.toml"]
SPDX = "// SPDX-License-Identifier: GPL-2.0-only\n"
PLANTED = {  # tool: file, a fault, what it says of that
    "clang-format": ("planted.c", "int f( int a );\n", "planted.c:1:7: error: code should be clang-formatted"),
    "checkpatch": ("kmod/planted.c", f"{SPDX}int f(int a)\n{{\n\tif (a == 1) {{\n\t\treturn 2;\n\t}}\n\treturn a;\n}}\n",
                   "kmod/planted.c:4: WARNING:BRACES"),
    "ruff": ("planted.py", "import os\n", "planted.py:1:8: F401"),
    "shellcheck": ("planted", "#!/bin/sh\nrm $1/x\n", "planted:2:4: note: Double quote"),
    "codespell": ("planted.md", "The memmory of a node.\n", "planted.md:1: memmory ==> memory"),  # codespell:ignore memmory
}
MODULE = {  # files of a kernel module; the second function reads memory of user space through its pointer
    "Kbuild": "obj-m := planted.o\n",
    "planted.c": f"""{SPDX}#include <linux/module.h>

int planted(const int __user *from);
int planted(const int __user *from)
{{
	return *from;
}}
""",
}


@pytest.mark.parametrize("tool", style.TOOLS)
def test_tree(tool: str) -> None:
    found = style.run_tool(tool, ROOT, style.list_tracked(ROOT))
    assert not found, found


@pytest.mark.parametrize("tool", style.TOOLS)
def test_planted_fault(tool: str, tmp_path: Path) -> None:
    name, text, expected = PLANTED[tool]
    for option in OPTIONS:
        shutil.copy(ROOT / option, tmp_path)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    assert expected in style.run_tool(tool, tmp_path, [name])


@pytest.mark.parametrize("module", ["src", "lab"])
def test_sparse(module: str) -> None:
    found = style.run_sparse(style.MODULES / module, "C=2", "modules")
    assert not found, found


def test_sparse_finds_a_user_pointer_that_is_read(tmp_path: Path) -> None:
    for name, text in MODULE.items():
        (tmp_path / name).write_text(text)
    assert "planted.c:7:17: error: dereference of noderef expression" in style.run_sparse(tmp_path, "C=1", "planted.o")
    (tmp_path / "planted.c").write_text(MODULE["planted.c"].replace("__user ", ""))
    assert not style.run_sparse(tmp_path, "C=1", "planted.o")
