# SPDX-License-Identifier: GPL-2.0-only

.PHONY: measured measured-age
measured: setup all		## writes the files of Documentation/measured that are older than their code; hours, goes on where it was ended
	@$(PY) Documentation/measured/measure.py

measured/%: setup all		# one of them
	@$(PY) Documentation/measured/measure.py $*

measured-age: setup		## lists the files of Documentation/measured that are older than their code
	@$(PY) Documentation/measured/measure.py --age

measured: Documentation/images/numaplace.svg
Documentation/images/numaplace.svg: Documentation/images/draw.py
	$(PY) $<
