# SPDX-License-Identifier: GPL-2.0-only
"""Signals that end a run become one exception, where Python does not drop it."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import Interrupted

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class stop_signals:
    """Turns SIGINT, SIGTERM and SIGHUP into one Interrupted; more of them do not disturb the undoing."""

    held = False
    arrived: int | None = None  # while they were held

    def __enter__(self) -> None:
        self.before = {number: signal.signal(number, self._raise_interrupted) for number in NUMBERS}

    @classmethod
    def _raise_interrupted(cls, number: int, _frame: object) -> None:
        """Raises Interrupted, or notes the signal while they are held; no later signal is handled."""
        for other in NUMBERS:
            signal.signal(other, signal.SIG_IGN)
        if not cls.held:
            raise Interrupted(number)
        cls.arrived = number

    def __exit__(self, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)


@contextmanager
def hold_signals() -> Iterator[None]:
    """Holds Interrupted back while this block runs; raises it at the end where a signal has arrived."""
    # Of a handler that runs in the middle of a fork, Python prints the exception and goes on.
    stop_signals.held = True
    try:
        yield
    finally:
        stop_signals.held = False
        number, stop_signals.arrived = stop_signals.arrived, None
        if number is not None:
            raise Interrupted(number)
