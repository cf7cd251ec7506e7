# SPDX-License-Identifier: GPL-2.0-only
"""Measures the machine it runs on and writes a machine file for the lab: numaplace calibrate-machine."""
