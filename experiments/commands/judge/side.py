# SPDX-License-Identifier: GPL-2.0-only
"""One of the two that are compared: a kernel, what is done in it before the suite, and its folder of results."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import CannotError, ExperimentError, UsageError
from ...lab import kernels
from ...lab.errors import LabError
from ...lab.own_kernel import find_own_kernel
from ...runner.records import manifest, results
from ...runner.run_in_lab import Guest

NAME = "side.json"
STATUS = {UsageError.status: UsageError, CannotError.status: CannotError}


@dataclass(frozen=True)
class Side:
    letter: str  # "a" or "b"
    spec: str    # as given: SERIES or IMAGE[,MODULES]
    setup: str
    out: Path
    kernel: kernels.Kernel

    @property
    def guest(self) -> Guest:
        """Returns what the lab boots: a known series, or the image of the spec, and the set-up."""
        if self.kernel.series == self.spec:
            return Guest(("--kernel", self.spec), self.setup)
        image, modules = split_spec(self.spec)
        return Guest(("--kernel-image", image, *(("--modules", modules) if modules else ())), self.setup)

    def describe_side(self) -> dict[str, Any]:
        """Describes what its results are of: a kernel that is built anew is another one, also under the same name."""
        return {"kernel": self.spec, "release": self.kernel.release, "setup": self.setup,
                "sha256": hashlib.sha256(self.kernel.image.read_bytes()).hexdigest()}

    def keep_description(self, resume: bool, force: bool) -> None:
        """Writes the description into the folder of its results; with `force` these are removed. UsageError: they are there without
        `resume` or `force`, or of another kernel; ExperimentError: the folder cannot be written."""
        path = self.out / NAME
        if resume and results.count_records(self.out) and path.exists() and json.loads(path.read_text()) != self.describe_side():
            raise UsageError(f"--resume: {path} is of another kernel or set-up: take another --out, or start anew with --force")
        if results.count_records(self.out) and not resume and not force:
            raise UsageError(f"{self.out} holds results already: go on with --resume, throw them away with --force, or choose "
                             "another --out")
        try:
            self.out.mkdir(parents=True, exist_ok=True)
            for name in (results.NAME, manifest.NAME) if force else ():
                (self.out / name).unlink(missing_ok=True)
            path.write_text(json.dumps(self.describe_side(), indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise ExperimentError(f"{self.out}: {error.strerror}: choose another folder with --out") from None


def split_spec(spec: str) -> tuple[Path, Path | None]:
    """Splits IMAGE[,MODULES]."""
    image, _, modules = spec.partition(",")
    return Path(image), Path(modules) if modules else None


def find_side(letter: str, spec: str, setup: str, out: Path) -> Side:
    """Makes a Side of its fields: finds the kernel of a series, or of an image, for which the modules are built then. ExperimentError or
    one of its kinds: there is none."""
    try:
        if "/" in spec or "," in spec or Path(spec).is_file():
            return Side(letter, spec, setup, out, find_own_kernel(*split_spec(spec)))
        return Side(letter, spec, setup, out, kernels.find(spec))
    except LabError as error:
        raise STATUS.get(error.status, ExperimentError)(f"--kernel {spec}: {error}") from None
