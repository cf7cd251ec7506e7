# SPDX-License-Identifier: GPL-2.0-only
"""Machines as they were measured, beside what the contention model predicts of them: make zoo."""
