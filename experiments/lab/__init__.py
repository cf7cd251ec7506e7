# SPDX-License-Identifier: GPL-2.0-only
"""The lab: described NUMA machines, booted on any Linux box."""
