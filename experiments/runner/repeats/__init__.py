# SPDX-License-Identifier: GPL-2.0-only
"""How many repeats are enough."""
