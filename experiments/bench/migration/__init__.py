# SPDX-License-Identifier: GPL-2.0-only
"""How fast pages move: the module beside move_pages(2) and migrate_pages(2), in one boot of the lab."""
