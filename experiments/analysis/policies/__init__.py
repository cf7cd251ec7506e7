# SPDX-License-Identifier: GPL-2.0-only
"""What policies brought and cost: speed-ups against the baseline, and when a migration has paid."""
