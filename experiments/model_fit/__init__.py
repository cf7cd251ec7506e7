# SPDX-License-Identifier: GPL-2.0-only
"""The contention model beside the papers' tables, and the fits of its calibrated numbers."""
