# SPDX-License-Identifier: GPL-2.0-only
# What tests build where it is missing, built before they run side by side.

.PHONY: test-programs
test-programs: wheel		## the programs that the tests run; those under the sanitizers too

# Linked by every program of CUnit suites.
$(BUILD)/tests/cunit_main.o: tests/cunit_main.c tests/cunit_main.h
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O1 -g -Wall -Wextra -Werror -c -o $@ $<

# The program that tests inside the lab place and move.
$(BUILD)/tests/target: $(wildcard tests/target/*.[ch])
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O1 -g -Wall -Wextra -Werror -o $@ $(filter %.c,$^) -lnuma -pthread

# Those that sparse reads: tests/style.py.
STYLE_MODULES := $(BUILD)/modules/6.12/numaplace.ko $(BUILD)/modules/6.12/numaplace_lab.ko

# A worker for each of two processors: tests/parallel.py.
TEST_WORKERS ?= 2

# Options of somebody's own would change what a check is.
unexport PYTEST_ADDOPTS
