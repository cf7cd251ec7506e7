# SPDX-License-Identifier: GPL-2.0-only
"""python -m experiments.start MODULE:FUNCTION ARGUMENT..: a program of pyproject.toml; a missing package is one line."""

import pkgutil
import sys

UNABLE = 3
DISTRIBUTED_AS = {"elftools": "pyelftools"}  # packages whose modules have other names


def main() -> int:
    """Calls the function that the first word of the command line names. Returns its exit status, or UNABLE where a package is missing, with
    a line that says which."""
    entry = sys.argv.pop(1)
    try:
        return pkgutil.resolve_name(entry)()
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module in ("", "experiments"):  # a fault of the program's
            raise
        package = DISTRIBUTED_AS.get(module, module)
        print(f"numaplace: {sys.executable} has no package {package}: run 'make setup' in a tree, "
              f"else 'apt-get install python3-{package.lower()}'", file=sys.stderr)
        return UNABLE


if __name__ == "__main__":
    sys.exit(main())
