# SPDX-License-Identifier: GPL-2.0-only
# build/libpolicies.a, and its tests, also under the address and undefined-behaviour sanitizers.

# From the bottom up: each folder includes those before it only.
POLICIES_FOLDERS := policies/model policies/predict policies/plan policies/search policies
POLICIES_SRC := $(foreach folder,$(POLICIES_FOLDERS),$(wildcard $(folder)/*.c))
POLICIES_TEST_SRC := $(wildcard policies/tests/*.c)
POLICIES_CFLAGS := -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Wno-unused-parameter -Werror -MMD -MP -Ipolicies
# One set of objects for the tests under the sanitizers and for libFuzzer, which needs clang.
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
SANITIZE_CC := clang
SANITIZE_OBJ := -O1 $(SANITIZE) -fsanitize=fuzzer-no-link

LIBPOLICIES := $(BUILD)/libpolicies.a
POLICIES_OBJ := $(POLICIES_SRC:%.c=$(BUILD)/%.o)
POLICIES_TEST_OBJ := $(POLICIES_TEST_SRC:%.c=$(BUILD)/%.o)
POLICIES_ASAN_OBJ := $(POLICIES_OBJ:$(BUILD)/%=$(BUILD)/asan/%)
POLICIES_TEST_ASAN_OBJ := $(POLICIES_TEST_OBJ:$(BUILD)/%=$(BUILD)/asan/%)

$(LIBPOLICIES): $(POLICIES_OBJ)
	$(RM) $@
	$(AR) rcs $@ $^

# As userspace.mk has it: the shared library takes these objects as well.
$(BUILD)/policies/%.o: policies/%.c policies/policies.mk
	@mkdir -p $(@D)
	$(CC) $(POLICIES_CFLAGS) -fPIC -fno-semantic-interposition -c -o $@ $<

$(BUILD)/asan/policies/%.o: policies/%.c
	@mkdir -p $(@D)
	$(SANITIZE_CC) $(POLICIES_CFLAGS) $(SANITIZE_OBJ) -c -o $@ $<

$(BUILD)/tests/test_policies: $(POLICIES_TEST_OBJ) $(BUILD)/tests/cunit_main.o $(LIBPOLICIES)
	@mkdir -p $(@D)
	$(CC) -o $@ $^ -lcunit -lm

$(BUILD)/asan/test_policies: $(POLICIES_TEST_ASAN_OBJ) $(BUILD)/tests/cunit_main.o $(POLICIES_ASAN_OBJ)
	@mkdir -p $(@D)
	$(SANITIZE_CC) $(SANITIZE) -o $@ $^ -lcunit -lm

test-programs: $(addprefix $(BUILD)/,asan/test_policies tests/policy_allocations tests/policy_quality libmodel.so)

# Benchmarks, which take longer than a test may.
POLICIES_BENCH_SRC := $(wildcard policies/bench/*.c)
POLICIES_BENCH_PARTS := $(patsubst %,$(BUILD)/policies/bench/%.o,cases)

$(BUILD)/tests/policy_quality: $(BUILD)/policies/bench/quality.o $(POLICIES_BENCH_PARTS) $(LIBPOLICIES)
	@mkdir -p $(@D)
	$(CC) -o $@ $^ -lm

$(BUILD)/tests/policy_speed: $(BUILD)/policies/bench/speed.o $(POLICIES_BENCH_PARTS) $(LIBPOLICIES)
	@mkdir -p $(@D)
	$(CC) -o $@ $^ -lm

# Calls from the library must come to the wrappers too, so that all is linked from objects.
$(BUILD)/tests/policy_allocations: $(BUILD)/policies/bench/allocations.o $(POLICIES_BENCH_PARTS) $(POLICIES_OBJ)
	@mkdir -p $(@D)
	$(CC) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc -o $@ $^ -lm

.PHONY: bench-policies
bench-policies: $(BUILD)/tests/policy_speed $(BUILD)/tests/policy_quality	## how fast policies plan, and how near measured comes to the best of all placements: five minutes
	$(BUILD)/tests/policy_speed
	$(BUILD)/tests/policy_quality 1000 60000 throughput
	$(BUILD)/tests/policy_quality 1000 60000 fairness

.PHONY: bench-policies-machines
bench-policies-machines: $(BUILD)/numaplace	## measured beside every other policy on every machine of the lab: 25 minutes
	$(PY) policies/bench/machines.py

bench-present: setup-check tools lab-simulation	## what plans predict of running tasks beside counters, in the simulated lab: 15 minutes
	$(PY) -m experiments.bench.lab present

-include $(POLICIES_BENCH_SRC:%.c=$(BUILD)/%.d)

# The contention model for Python, to compare it with the papers' tables.
$(BUILD)/libmodel.so: $(wildcard policies/model/*.[ch] policies/model/*.def policies/predict/derive_model.[ch]) experiments/model_fit/native.c
	@mkdir -p $(@D)
	$(CC) $(filter-out -MMD -MP,$(POLICIES_CFLAGS)) -shared -fPIC -o $@ $(filter %.c,$^) -lm

.PHONY: model-table
model-table: $(BUILD)/numaplace	## the contention model beside the papers' tables, cell by cell
	$(PY) -m experiments.model_fit

-include $(POLICIES_OBJ:.o=.d) $(POLICIES_TEST_OBJ:.o=.d)
-include $(POLICIES_ASAN_OBJ:.o=.d) $(POLICIES_TEST_ASAN_OBJ:.o=.d)
