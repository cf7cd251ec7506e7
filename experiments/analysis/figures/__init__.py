# SPDX-License-Identifier: GPL-2.0-only
"""Drawings of numbers, and the analysis of variance with its drawings."""
