# SPDX-License-Identifier: GPL-2.0-only
# How fast pages move: the module beside the system calls.

MIGRATION_OBJ := $(addprefix $(EXP_OBJ)/migration/,methods.o target.o)
MIGRATION_PROGRAMS := $(BUILD)/np-move $(BUILD)/np-batch
BENCH_KERNEL ?= 6.12
BENCH_CLOCK ?= timed functional
BENCH_REPEATS ?= 3

$(EXP_OBJ)/migration/%.o: experiments/bench/migration/%.c experiments/bench/migration/migration.mk
	@mkdir -p $(@D)
	$(CC) $(EXP_CFLAGS) -O2 -MMD -MP -c -o $@ $<

$(MIGRATION_PROGRAMS): $(BUILD)/np-%: $(EXP_OBJ)/migration/np_%.o $(MIGRATION_OBJ) $(LIBNUMAPLACE)
	$(CC) -o $@ $^ -pthread -lnuma -ljansson

-include $(MIGRATION_OBJ:.o=.d) $(EXP_OBJ)/migration/np_move.d $(EXP_OBJ)/migration/np_batch.d

.PHONY: tools bench-migrate bench-batches
tools: $(MIGRATION_PROGRAMS)

bench-migrate: setup-check		## how fast pages move, by module and by system calls, in tables; BENCH_KERNEL=6.1|6.12|7; 15 minutes, longer for 6.1
	@$(MAKE) --no-print-directory all > /dev/null
	$(PY) -m experiments.bench.migration --kernel $(BENCH_KERNEL) --repeats $(BENCH_REPEATS) $(BENCH_CLOCK)

bench-batches: setup-check		## what a batch of move_pages(2) costs its first page; BENCH_KERNEL=6.1|6.12|7
	@$(MAKE) --no-print-directory all > /dev/null
	$(PY) -m experiments.bench.migration.batches --kernel $(BENCH_KERNEL) --repeats $(BENCH_REPEATS)
