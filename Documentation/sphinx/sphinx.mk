# SPDX-License-Identifier: GPL-2.0-only
# build/docs: README, CONTRIBUTING, CHANGELOG and Documentation as HTML. A warning of Sphinx, such as a link to nothing, is an error.

.PHONY: docs docs-tables

# A package's build has its own Python.
docs: $(if $(filter $(VENV)/%,$(PY)),setup-check) docs-tables	## the documents as HTML, in build/docs/index.html
	$(PY) -m sphinx -q -E -W --keep-going -b html -d $(BUILD)/doctrees -c Documentation/sphinx . $(BUILD)/docs

docs-tables: tools
	$(PY) Documentation/sphinx/tables.py $(BUILD)/numaplace $(BUILD)/reference
