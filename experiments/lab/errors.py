# SPDX-License-Identifier: GPL-2.0-only
"""Errors that end the lab, each with its exit status."""

import sys

USAGE = 2          # also a machine file that does not hold together
UNABLE = 3         # this computer cannot do that
FAILED_IF = 4      # what --fail-if says is true
TIME_LIMIT = 124   # as timeout(1)
BOOT_FAILED = 125  # the lab, not the command
READER_GONE = 141  # 128 + SIGPIPE


class LabError(Exception):
    """Ends the lab with an exit status and a message that says why."""
    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = status


def print_message(text: str):
    print(f"numaplace lab: {text}", file=sys.stderr, flush=True)
