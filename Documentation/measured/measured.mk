# SPDX-License-Identifier: GPL-2.0-only

.PHONY: measured measured-age
measured: setup-check		## writes the files of Documentation/measured that are older than their code; hours, goes on where it was ended
	@$(MAKE) --no-print-directory all
	@$(PY) Documentation/measured/measure.py

measured/%: setup-check		# one of them
	@$(MAKE) --no-print-directory all
	@$(PY) Documentation/measured/measure.py $*

measured-age: setup-check		## lists the files of Documentation/measured that are older than their code
	@$(PY) Documentation/measured/measure.py --age

measured: Documentation/images/numaplace.svg Documentation/images/lab-time.svg
Documentation/images/numaplace.svg: Documentation/images/draw.py
Documentation/images/lab-time.svg: Documentation/images/draw_lab_time.py
Documentation/images/numaplace.svg Documentation/images/lab-time.svg:
	$(PY) $<
