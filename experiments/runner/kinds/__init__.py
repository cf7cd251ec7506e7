# SPDX-License-Identifier: GPL-2.0-only
"""The kinds of workload, as far as that is known without running one."""
