# SPDX-License-Identifier: GPL-2.0-only
"""The module with delays between what is read and the lock under which it is used."""

import subprocess
from pathlib import Path

import pytest

from experiments.lab import kernels
from experiments.lab.command import build_words
from experiments.paths import cache
from kmod.tests import planted

TOP = Path(__file__).resolve().parents[2]
TABLES = "kmod/tests/guest/kernel/test_tables.py"
CPUSET = "kmod/tests/guest/kernel/test_cpuset.py"
WRITERS = "for n in 1 2 3; do (for i in $(seq 30); do echo none >/sys/kernel/debug/numaplace/place; done 2>/dev/null) & done; wait"
TIME_LIMIT = 900  # seconds; a busy host takes some hundred


def guest_tests(faults: tuple[planted.Fault, ...], series: str, *tests: str) -> subprocess.CompletedProcess:
    """Without the test of 400 threads, each of which would wait."""
    module = planted.build(faults, series, cache() / "tests" / f"kmod-delays-{series}-{len(faults)}")
    return subprocess.run(
        build_words("demo-2s", ["env", f"NUMAPLACE_KO={module}", ".venv/bin/python", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k",
                                "not many_threads", *tests], ["--module", module], functional=True, kernel=series, seconds=TIME_LIMIT),
        cwd=TOP, capture_output=True, text=True, check=False)


@pytest.mark.lab
@pytest.mark.full("builds the module and boots a machine")
@pytest.mark.parametrize("series", kernels.known_series())
def test_delays_before_locks_do_no_harm(series):
    done = guest_tests(planted.DELAYS, series, TABLES, CPUSET)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.lab
@pytest.mark.full("builds the module and boots a machine")
def test_a_table_that_is_read_too_early_is_found_by_delays_neg():
    """On 7, whose kernel frees tables of private memory."""
    done = guest_tests((planted.EARLY_READ, *planted.DELAYS), "7", TABLES)
    assert "WARNING: kmod/classify.c" in done.stdout, done.stdout + done.stderr


@pytest.mark.lab
@pytest.mark.full("builds a kernel and boots it")
def test_a_race_is_found_by_kcsan_neg(tmp_path):
    series = f"kcsan-{kernels.DEFAULT_SERIES}"
    subprocess.run([TOP / "setup/debug-kernel", kernels.DEFAULT_SERIES, "kcsan"], check=True)  # nothing where it is there
    module = planted.build((planted.RACE,), series, tmp_path / "source")
    done = subprocess.run(build_words("demo-2s", ["sh", "-c", WRITERS], ["--module", module, "--console", tmp_path / "console"],
                                      functional=True, kernel=series, seconds=TIME_LIMIT), cwd=TOP, capture_output=True, text=True, check=False)
    console = (tmp_path / "console").read_text(encoding="utf-8", errors="replace")
    assert "BUG: KCSAN: data-race in " in console and "numaplace" in console.partition("BUG: KCSAN")[2], done.stdout + done.stderr


def test_planted_faults_are_in_the_sources(tmp_path):
    for fault in planted.FAULTS:
        planted.plant((fault,), tmp_path / "copy")
    planted.plant((planted.EARLY_READ, *planted.DELAYS, planted.RACE), tmp_path / "copy")
