# SPDX-License-Identifier: GPL-2.0-only
"""tuned.toml: what a search found, and the levels that it adds to a run."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path

from ...errors import ExperimentError, UsageError
from .search import Search

NAME = "tuned.toml"


def write_tuned(out: Path, head: dict[str, str | int], searches: Sequence[Search]) -> None:
    """Writes tuned.toml: the head (machine, suite, seed, kernel, quick), and each search's best level with its score and that of the
    defaults, which are geometric means of speed-ups against `none` on the training input. ExperimentError: it cannot be written."""
    lines = [f"{key} = {json.dumps(value)}" for key, value in (head | {"trials": len(searches[0].tried)}).items()]
    for search in searches:
        best = search.best
        lines += ["", "[[mechanism]]", f"name = {json.dumps(search.name)}", f"level = {json.dumps(best.level)}"]
        lines += [f"{key} = {score:.6g}" for key, score in (("default", search.default), ("best", best.score)) if score is not None]
    try:
        (out / NAME).write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        raise ExperimentError(f"{out / NAME}: {error.strerror}: choose another folder with --out") from None


def check_head(out: Path, head: dict[str, str | int]) -> None:
    """Checks that what is in the folder was found for the same machine, kernel and input. UsageError: it was not."""
    if not (out / NAME).exists():
        return
    try:
        then = tomllib.loads((out / NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{out / NAME} cannot be read ({error}): remove {out}") from None
    for key, value in head.items():
        if then.get(key, value) != value:
            raise UsageError(f"{out} is of another search: its {key} is {then[key]}, not {value}; take the options that it began with, or "
                             "another --out")


def add_tuned(policies: Sequence[str], file: Path, machine: str, seeds: range) -> list[str]:
    """Returns `policies`, the run's levels, with each tuned one and its mechanism at its defaults. seeds: of the run's inputs. UsageError:
    the file is wrong, of another machine, or was trained on one of the inputs."""
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
        training_seed, tuned_on = int(table["seed"]), str(table["machine"])
        levels = [(str(mechanism["name"]), str(mechanism["level"])) for mechanism in table["mechanism"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = f"has no {error}" if isinstance(error, KeyError) else getattr(error, "strerror", None) or str(error)
        raise UsageError(f"--tuned {file}: {why}: give the {NAME} of 'numaplace experiment tune'") from None
    if tuned_on != machine:
        raise UsageError(f"--tuned {file}: was tuned on {tuned_on} and this run is on {machine}: tune on {machine} too")
    if training_seed in seeds:
        raise UsageError(f"--tuned {file}: was tuned with seed {training_seed}, which is one of this run's "
                         f"({seeds[0]} to {seeds[-1]}): give another --seed")
    return list(dict.fromkeys([*policies, *(level for pair in levels for level in pair)]))
