# SPDX-License-Identifier: GPL-2.0-only
# What measures the simulated lab.

# Programs that know nothing of the lab. No vectors: what a simple loop costs.
LAB_PROGRAMS := $(addprefix $(BUILD)/lab/programs/,chase lines misses new_pages pages triad)

$(LAB_PROGRAMS): $(BUILD)/lab/programs/%: experiments/bench/lab/programs/%.c experiments/bench/lab/programs/common.h
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -o $@ $< -pthread

# Those that only tests run.
LAB_TEST_PROGRAMS := $(addprefix $(BUILD)/tests/,answers rounds timers)

$(LAB_TEST_PROGRAMS): $(BUILD)/tests/%: experiments/bench/lab/tests/programs/%.c experiments/bench/lab/programs/common.h
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -o $@ $< -pthread

test-programs: $(LAB_TEST_PROGRAMS)

.PHONY: bench-lab lab-simulation tools
bench-lab: setup-check		## the simulated lab beside the papers and its machine files, in tables; more than an hour
	@$(MAKE) --no-print-directory lab-simulation
	$(PY) -m experiments.bench.lab $(CLAIMS)

lab-simulation tools: $(LAB_PROGRAMS)
