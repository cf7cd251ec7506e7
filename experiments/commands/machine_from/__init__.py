# SPDX-License-Identifier: GPL-2.0-only
"""Descriptions of a machine that somebody has, made a machine file."""
