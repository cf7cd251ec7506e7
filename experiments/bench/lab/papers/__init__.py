# SPDX-License-Identifier: GPL-2.0-only
"""Claims that compare the lab with what papers measured on machines of their own."""
