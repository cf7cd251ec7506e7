# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own and other people's ways to place, one a file."""
