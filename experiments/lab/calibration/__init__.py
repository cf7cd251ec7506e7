# SPDX-License-Identifier: GPL-2.0-only
"""The contention model beside the papers' tables, and the fits that its calibrated numbers came from."""
