# SPDX-License-Identifier: GPL-2.0-only
"""HTML of README, CONTRIBUTING, CHANGELOG and Documentation: `make docs`."""

project = "numaplace"
copyright = "the numaplace authors; GPL-2.0-only"  # noqa: A001 (Sphinx names it)
extensions = ["myst_parser"]
root_doc = "Documentation/index"
include_patterns = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Documentation/**"]
exclude_patterns = ["Documentation/sphinx"]
myst_heading_anchors = 4
html_theme = "furo"
html_title = "numaplace"
html_copy_source = False
html_show_sphinx = False
html_show_sourcelink = False
templates_path = ["templates"]
html_additional_pages = {"index": "redirect.html"}
smartquotes = False
