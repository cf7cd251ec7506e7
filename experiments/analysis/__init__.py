# SPDX-License-Identifier: GPL-2.0-only
"""Reads what the runner wrote and turns it into numbers, tables and a report."""
