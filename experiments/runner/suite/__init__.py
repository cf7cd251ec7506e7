# SPDX-License-Identifier: GPL-2.0-only
"""A suite before it runs: its workloads on a machine, their order and the time that they take."""
