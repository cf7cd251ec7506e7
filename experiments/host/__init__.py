# SPDX-License-Identifier: GPL-2.0-only
"""What is read of the computer that a run is on, changed of it and started on it."""
