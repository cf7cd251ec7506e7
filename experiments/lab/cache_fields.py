# SPDX-License-Identifier: GPL-2.0-only
"""The [[cache]] parts of a machine file: what the simulation can build, so that nothing boots in vain.

experiments/lab/plugin/config.c has the same limits, of what it is given.
"""

from typing import Any

LINES = (16, 32, 64, 128, 256)  # bytes
LEAST, MOST = 4096, 10 ** 9     # bytes of a cache
MOST_WAYS = 64
PAGE, MOST_FIRST = 4096, 65536  # the first level is indexed within a page


def check_cache(check, where: tuple, cache: dict[str, Any]):
    size = check.size(where + ("size",), cache["size"])
    if cache["level"] not in (1, 2, 3, 4):
        check.fail(where + ("level",), f"{cache['level']} is not a level from 1 to 4")
    if not LEAST <= size <= MOST:
        check.fail(where + ("size",), f"a cache has {LEAST} to {MOST} bytes")
    if cache["level"] == 1 and (size % PAGE or size > MOST_FIRST):
        check.fail(where + ("size",), f"a first level has whole pages of {PAGE} bytes, up to {MOST_FIRST >> 10} KiB")
    if not 1 <= cache["ways"] <= MOST_WAYS:
        check.fail(where + ("ways",), f"{cache['ways']} ways, must be 1 to {MOST_WAYS}")
    if cache["line_bytes"] not in LINES:
        check.fail(where + ("line_bytes",), f"{cache['line_bytes']} is not one of {', '.join(map(str, LINES))}")
    if cache["shared_by_cpus"] < 1:
        check.fail(where + ("shared_by_cpus",), f"{cache['shared_by_cpus']} is not 1 or more")
    if not 0 <= cache.get("latency_ns", 0) < 1e6:
        check.fail(where + ("latency_ns",), f"{cache['latency_ns']} is not from 0 to a millisecond")


def check_caches(check, caches: list[dict[str, Any]]):
    levels: set[int] = set()
    for index, cache in enumerate(caches):
        check_cache(check, ("cache", index), cache)
        if cache["level"] in levels:
            check.fail(("cache", index, "level"), f"there is a level {cache['level']} already")
        levels.add(cache["level"])
        if cache["line_bytes"] != caches[0]["line_bytes"]:
            check.fail(("cache", index, "line_bytes"), "all levels must have lines of the same length")
