# SPDX-License-Identifier: GPL-2.0-only
"""The kernels that set-up unpacked into the cache, and the module built for each."""

from dataclasses import dataclass
from pathlib import Path

from experiments.lab.errors import UNABLE, USAGE, LabError
from experiments.paths import HERE, cache

DEFAULT_SERIES = "6.12"
DEBUG_PREFIXES = ("debug-", "kcsan-")  # of a series of KERNELS, built by make check-debug
OWN_PREFIX = "own-"  # of a kernel that is not in KERNELS: experiments/lab/own_kernel.py


@dataclass
class Kernel:
    """Names a kernel of the cache by its series, its release and its image."""
    series: str
    release: str
    image: Path

    @property
    def ends_at_report(self) -> bool:
        """Checks whether the first report of its checkers ends it; after one of KCSAN it goes on."""
        return split_series(self.series)[0] == "debug"

    def build_remedy(self, make: str) -> str:
        """Returns the words that say what builds the modules for it: `make` in a tree."""
        if self.series.startswith(OWN_PREFIX):
            return "give --modules a folder whose link 'build' leads to the kernel's sources or headers"
        return HERE.remedy(f"run make {make}", f"run numaplace lab setup --kernel {self.series}")

    def find_drivers(self, *names: str) -> list[Path]:
        """Finds module files of this kernel; of those that are built in, none."""
        folder = self.image.parents[1] / "lib/modules" / self.release
        return [path for name in names for path in sorted(folder.glob(f"kernel/drivers/*/{name}.ko*"))]

    @property
    def module(self) -> Path:
        return HERE.modules / self.series / "numaplace.ko"


def get_folder() -> Path:
    return cache() / "kernels"


def known_series() -> list[str]:
    lines = (HERE.sources / "KERNELS").read_text(encoding="utf-8").splitlines()
    return [line.split()[0] for line in lines if line and not line.startswith("#")]


def is_debug(series: str) -> bool:
    return series.startswith(DEBUG_PREFIXES)


def split_series(series: str) -> tuple[str, str]:
    """Splits debug-6.12 into debug and 6.12, the series of KERNELS; 6.12 into "" and 6.12."""
    kind, _, stock = series.partition("-") if is_debug(series) else ("", "", series)
    return kind, stock


def choose_target(series: str) -> str:
    """Returns the target of make that fetches this kernel, or "all"."""
    return "setup" if series == DEFAULT_SERIES else "setup-check"


def find(series: str) -> Kernel:
    """Finds the kernel of a series in the cache. LabError: the series is not known or not there."""
    kind, stock = split_series(series)
    if stock not in known_series() and not series.startswith(OWN_PREFIX):
        raise LabError(USAGE, f"there is no kernel series '{series}': known are "
                       f"{', '.join(known_series())} (file KERNELS), each also as {' and '.join(f'{prefix}SERIES' for prefix in DEBUG_PREFIXES)}")
    kernel = get_folder() / series
    try:
        release = (kernel / "release").read_text(encoding="utf-8").strip()
    except OSError as error:
        make = f"check-debug KERNEL={stock}{' CHECKER=kcsan' * (kind == 'kcsan')}" if kind else choose_target(series)
        remedy = HERE.remedy(f"run make {make}", f"run numaplace lab setup --kernel {series}")
        raise LabError(UNABLE, f"kernel {series} is not in {kernel}: {remedy}") from error
    image = kernel / "boot" / f"vmlinuz-{release}"
    if not image.exists():
        raise LabError(UNABLE, f"{image} is missing: remove {kernel} and {HERE.remedy(f'run make {choose_target(series)}')}")
    return Kernel(series, release, image)
