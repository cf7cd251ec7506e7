# SPDX-License-Identifier: GPL-2.0-only
"""Figures of machines beside the contention model's predictions."""
