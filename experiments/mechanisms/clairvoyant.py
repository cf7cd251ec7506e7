# SPDX-License-Identifier: GPL-2.0-only
"""What a program would do that knows its next accesses: those workloads have it whose file says how (`clairvoyant`)."""

from .mechanism import Mechanism


class Clairvoyant(Mechanism):
    name = "clairvoyant"
    about = "programs that know what they will access next place it themselves: what no mechanism can know"
    counters = ("pgmigrate_success",)
