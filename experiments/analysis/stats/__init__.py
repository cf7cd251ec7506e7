# SPDX-License-Identifier: GPL-2.0-only
"""Statistics: numbers from numbers."""
