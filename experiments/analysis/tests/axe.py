# SPDX-License-Identifier: GPL-2.0-only
"""axe-core, the accessibility checker, on the page that a browser shows. Its script comes from a Python package."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from experiments.analysis.tests.browser import Browser

SCRIPT = Path(importlib.util.find_spec("axe_playwright_python").origin).parent / "axe.min.js"
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
VIEWS = {"light": (1600, False), "dark": (1200, True), "phone": (390, False)}  # width, dark
UNFOLD = "document.querySelectorAll('details').forEach(d => d.open = true)"


def violations_of(browser: Browser, page: Path, view: str) -> list[str]:
    """Of a page with everything unfolded."""
    width, dark = VIEWS[view]
    browser.open(page, width=width, dark=dark)
    browser.evaluate(UNFOLD)
    return violations(browser)


def violations(browser: Browser) -> list[str]:
    """One line for each rule that the page breaks: rule, what it says, the first element."""
    browser.evaluate(SCRIPT.read_text() + "; 0")
    options: dict[str, Any] = {"runOnly": {"type": "tag", "values": list(RULES)}, "resultTypes": ["violations"]}
    found = browser.evaluate(f"axe.run(document, {options!r}).then(r => [r.passes.length, r.violations])")
    passed, broken = found
    assert passed > 10, "axe looked at nothing"
    return [f"{one['id']}: {one['help']}: {one['nodes'][0]['html'][:120]} ({len(one['nodes'])})" for one in broken]
