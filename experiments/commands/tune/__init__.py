# SPDX-License-Identifier: GPL-2.0-only
"""experiment tune: parameters of mechanisms, as many trials for each, found by one optimiser on an input of their own."""
