# SPDX-License-Identifier: GPL-2.0-only

.PHONY: setup check-fleet check-prepare

setup:				## installs what is missing, says what and why; under a second when nothing is
	@setup/run

# Built before tests run, not beside set-up: that may have to bring the compiler first.
check-unit: setup		## the tests that need no machine of the lab
	@$(MAKE) --no-print-directory all
	$(PY) -m pytest -m "not lab"

check-lab: setup		## the tests that boot machines
	@$(MAKE) --no-print-directory all
	$(PY) -m pytest -m lab

check-fleet: setup		## a campaign over ssh and Slurm, as root: hosts are network namespaces, one goes down and comes back; 20 minutes
	@$(MAKE) --no-print-directory all
	@setup/check-fleet

check-prepare: setup		## setup/ansible on a machine of the lab with a bare Debian, and taken back, as root; 20 minutes
	@$(MAKE) --no-print-directory all
	@setup/check-prepare
