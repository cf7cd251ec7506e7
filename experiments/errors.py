# SPDX-License-Identifier: GPL-2.0-only
"""Errors: one line for the user and an exit status."""

import sys
from collections.abc import Callable


class ExperimentError(Exception):
    """The request did not happen."""

    status = 1


class UsageError(ExperimentError):
    """The command line or the suite is wrong."""

    status = 2


class CannotError(ExperimentError):
    """This machine cannot do that."""

    status = 3


class NotPutBackError(CannotError):
    """The machine is not as it was: nothing more is to be measured on it."""

    status = 4


class Interrupted(BaseException):
    """A signal asked to stop: everything is put back on the way out."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number
        self.left = "nothing that it placed is left"

    def add(self, failed: list[str]) -> None:
        """Adds to the message what could not be put back."""
        if failed:
            self.left = describe_not_put_back(failed)


def describe_not_put_back(failed: list[str]) -> str:
    return f"not put back: {'; '.join(failed)}: put it back by hand"


def get_exit_status(name: str, act: Callable[[], int | None], goes_on: str = "") -> int:
    """Carries a command out by `act`. Returns its status, 0 for None; after a line on standard error an ExperimentError's or a signal's.

    name: what the line begins with. goes_on: how a stopped command goes on."""
    try:
        return act() or 0
    except ExperimentError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return error.status
    except Interrupted as stop:
        print("; ".join([f"{name}: stopped", stop.left, *([goes_on] if goes_on else [])]), file=sys.stderr)
        return 128 + stop.number
