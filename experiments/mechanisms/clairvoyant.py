# SPDX-License-Identifier: GPL-2.0-only
"""Programs that place their own hot memory as they know their next accesses: workloads whose file says how (`clairvoyant`)."""

from .mechanism import Mechanism


class Clairvoyant(Mechanism):
    """Describes programs that place their own memory; it changes nothing itself."""

    name = "clairvoyant"
    about = "programs place their own hot memory as they know their next accesses; not a bound"
    counters = ("pgmigrate_success",)
