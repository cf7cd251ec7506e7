# SPDX-License-Identifier: GPL-2.0-only
"""How `numaplace calibrate-machine` is called in a timed lab machine, where it takes minutes of the host."""

from experiments.host import host_nodes

SECONDS = 0.01  # of each measurement: the lab's time needs no longer ones
TRIES = 4  # one whose threads did not overlap, on a busy host, is repeated


def list_options() -> list[str]:
    """Lists the options of calibrate-machine; a machine at 1/S of its speed measures for S times as long, as much work."""
    # The lab's kernel reports QEMU's caches, so that the size is given. A name of its own: by the lab machine's the tool would take
    # the file for the simulator's own.
    seconds = SECONDS * host_nodes.read_lab_scale()
    return ["--size", "24", "--seconds", f"{seconds:g}", "--repeats", "3", "--name", "as-calibrated"]
