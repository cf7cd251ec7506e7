# SPDX-License-Identifier: GPL-2.0-only
"""The simulated lab measured by running programs, beside the papers and the machine files: make bench-lab."""
