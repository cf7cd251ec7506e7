# SPDX-License-Identifier: GPL-2.0-only
"""The report and the other pages, in HTML and on the terminal."""
