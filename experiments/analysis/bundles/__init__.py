# SPDX-License-Identifier: GPL-2.0-only
"""Runs with all that their verdicts were made by, in one file, and the same verdicts made again."""
