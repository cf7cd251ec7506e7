# SPDX-License-Identifier: GPL-2.0-only
"""Starts, measures and stops each kind of workload."""
