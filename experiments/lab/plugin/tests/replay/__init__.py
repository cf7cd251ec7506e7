# SPDX-License-Identifier: GPL-2.0-only
"""The plugin called as QEMU does, without QEMU: what it costs the host, and whether it counts the same."""
