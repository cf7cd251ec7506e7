# SPDX-License-Identifier: GPL-2.0-only
"""Programs that place their own hot memory as they know their next accesses: workloads whose file says how (`oracle`)."""

from .mechanism import Mechanism


class Oracle(Mechanism):
    """Describes programs that place their own memory; it changes nothing itself."""

    name = "oracle"
    about = "programs place their own hot memory as they know their next accesses; not a bound"
    counters = ("pgmigrate_success",)
