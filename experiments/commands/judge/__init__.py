# SPDX-License-Identifier: GPL-2.0-only
"""Two kernels, or two set-ups of one, side by side on a suite in the lab."""
