# SPDX-License-Identifier: GPL-2.0-only
"""What a run writes: a line an observation, and the manifest."""
