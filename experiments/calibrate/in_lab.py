# SPDX-License-Identifier: GPL-2.0-only
"""How `numaplace calibrate-machine` is called in a timed lab machine, where it takes minutes of the host."""

# The lab's kernel reports QEMU's caches, so that the size is given; its time needs no long measurements. A name of its
# own: by the lab machine's the tool would take the file for the simulator's own.
OPTIONS = ("--size", "24", "--seconds", "0.01", "--repeats", "3", "--name", "as-calibrated")
TRIES = 4  # one whose threads did not overlap, on a busy host, is repeated
