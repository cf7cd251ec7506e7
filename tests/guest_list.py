# SPDX-License-Identifier: GPL-2.0-only
"""pytest plugin: lists the tests that run inside the lab, a line of JSON each, with the markers that the host asks about."""

import json

MARKERS = ("full", "long", "quick")


def pytest_collection_finish(session):
    for item in session.items:
        print("\n" + json.dumps({"test": item.nodeid, "markers": {
            name: list(item.get_closest_marker(name).args) for name in MARKERS if item.get_closest_marker(name)}}))
