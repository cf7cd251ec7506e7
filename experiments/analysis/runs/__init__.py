# SPDX-License-Identifier: GPL-2.0-only
"""A run as it is read, and its numbers and names as text."""
