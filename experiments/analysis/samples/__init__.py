# SPDX-License-Identifier: GPL-2.0-only
"""What the stretches within an observation tell."""
