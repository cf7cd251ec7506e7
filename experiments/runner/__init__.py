# SPDX-License-Identifier: GPL-2.0-only
"""Runs suites of experiments. Only the standard library: in the lab everything else loads slowly."""
