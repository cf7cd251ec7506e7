# SPDX-License-Identifier: GPL-2.0-only

.PHONY: setup setup-check check-fleet check-prepare

setup:				## installs what make, make demo and the programs lack, one kernel too, and says why; under a second when nothing is missing
	@setup/run demo

setup-check:			## the same and what make check and the other targets need, with every kernel in KERNELS
	@setup/run check

check-fleet: setup-check		## a campaign over ssh and Slurm, as root: hosts are network namespaces, one goes down and comes back; 20 minutes
	@$(MAKE) --no-print-directory all
	@setup/check-fleet

check-prepare: setup-check		## setup/ansible on a machine of the lab with a bare Debian, and taken back, as root; 20 minutes
	@$(MAKE) --no-print-directory all
	@setup/check-prepare
