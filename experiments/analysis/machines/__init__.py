# SPDX-License-Identifier: GPL-2.0-only
"""What a run would be on other machines, by the contention model."""
