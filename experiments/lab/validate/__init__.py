# SPDX-License-Identifier: GPL-2.0-only
"""What the simulated lab shows to running programs, beside the papers and the machine files: make bench-lab."""
