# SPDX-License-Identifier: GPL-2.0-only
"""Measures this machine and packs the figures into one file for the zoo: numaplace donate."""
