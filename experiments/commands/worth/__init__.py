# SPDX-License-Identifier: GPL-2.0-only
"""What placement is worth to one program."""
