# SPDX-License-Identifier: GPL-2.0-only
"""A run's numbers and figures in formats of other programs."""
