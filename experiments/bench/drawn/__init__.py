# SPDX-License-Identifier: GPL-2.0-only
"""What the analysis answers of runs whose truth is known, since they are drawn."""
