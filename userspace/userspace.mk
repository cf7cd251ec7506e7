# SPDX-License-Identifier: GPL-2.0-only
# build/libnumaplace.a, build/numaplace, their tests and fuzz targets.

US_CFLAGS := -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Wno-unused-parameter -Werror -MMD -MP
US_LIB_LIBS := -pthread -lnuma -ljansson -lpfm -lm
US_LIBS := $(US_LIB_LIBS) -lncurses

# Its objects also make the shared library; calls within stay direct.
US_PIC := -fPIC -fno-semantic-interposition

# From the bottom up: each folder includes those before it only.
US_LIB_FOLDERS := $(addprefix userspace/lib/,base host counters files policy undo engine predict plan daemon)
US_LIB_SRC := $(foreach folder,$(US_LIB_FOLDERS),$(wildcard $(folder)/*.c))
US_CMD_SRC := $(wildcard userspace/cmd/*.c)
US_TEST_SRC := $(wildcard userspace/tests/*.c $(patsubst %,userspace/tests/%/*.c,base host counters files undo engine plan daemon))

LIBNUMAPLACE := $(BUILD)/libnumaplace.a
US_ASAN_LIB := $(BUILD)/asan/libnumaplace.a
US_LIB_OBJ := $(US_LIB_SRC:%.c=$(BUILD)/%.o)
US_CMD_OBJ := $(US_CMD_SRC:%.c=$(BUILD)/%.o)
US_TEST_OBJ := $(US_TEST_SRC:%.c=$(BUILD)/%.o)
US_ASAN_LIB_OBJ := $(US_LIB_SRC:%.c=$(BUILD)/asan/%.o)
US_ASAN_CMD_OBJ := $(US_CMD_SRC:%.c=$(BUILD)/asan/%.o)
US_ASAN_TEST_OBJ := $(US_TEST_SRC:%.c=$(BUILD)/asan/%.o)

.PHONY: tools
tools: $(BUILD)/numaplace $(BUILD)/numaplace-trace $(BUILD)/tests/target $(BUILD)/tests/crowded.so $(BUILD)/tests/toml $(BUILD)/tests/fake_pmu.so	## the command line, build/numaplace

$(LIBNUMAPLACE): $(US_LIB_OBJ)
	$(RM) $@
	$(AR) rcs $@ $^

$(US_ASAN_LIB): $(US_ASAN_LIB_OBJ) $(POLICIES_ASAN_OBJ)
	$(RM) $@
	$(AR) rcs $@ $^

$(BUILD)/numaplace: $(US_CMD_OBJ) $(LIBNUMAPLACE) $(LIBPOLICIES)
	$(CC) -o $@ $^ $(US_LIBS)

$(BUILD)/numaplace-trace:
	@mkdir -p $(@D)
	ln -sfr userspace/tracing/numaplace-trace $@

$(BUILD)/userspace/%.o: userspace/%.c userspace/userspace.mk
	@mkdir -p $(@D)
	$(CC) $(US_CFLAGS) $(US_PIC) -c -o $@ $<

$(BUILD)/asan/userspace/%.o: userspace/%.c
	@mkdir -p $(@D)
	$(SANITIZE_CC) $(US_CFLAGS) $(SANITIZE_OBJ) -c -o $@ $<

$(BUILD)/tests/test_userspace: $(US_TEST_OBJ) $(BUILD)/tests/cunit_main.o $(LIBNUMAPLACE) $(LIBPOLICIES)
	@mkdir -p $(@D)
	$(CC) -o $@ $^ $(US_LIBS) -lcunit

$(BUILD)/asan/test_userspace: $(US_ASAN_TEST_OBJ) $(BUILD)/tests/cunit_main.o $(US_ASAN_LIB)
	@mkdir -p $(@D)
	$(SANITIZE_CC) $(SANITIZE) -o $@ $^ $(US_LIBS) -lcunit

$(BUILD)/asan/numaplace: $(US_ASAN_CMD_OBJ) $(US_ASAN_LIB)
	@mkdir -p $(@D)
	$(SANITIZE_CC) $(SANITIZE) -o $@ $^ $(US_LIBS)

# libFuzzer, which needs clang: `make fuzz`; `make fuzz FUZZ_SECONDS=3600 FUZZ_KEEP=--keep` adds to the corpus.
FUZZ_SECONDS ?= 60
FUZZ_KEEP ?=
FUZZ_NAMES := $(filter-out start,$(patsubst userspace/fuzz/%.c,%,$(wildcard userspace/fuzz/*.c)))
FUZZ_TARGETS := $(FUZZ_NAMES:%=$(BUILD)/fuzz/%)

.PHONY: fuzz
fuzz: setup-check $(FUZZ_TARGETS)	## libFuzzer on every parser of the command line, FUZZ_SECONDS (60) each
	$(PY) userspace/fuzz/campaign.py --seconds $(FUZZ_SECONDS) $(FUZZ_KEEP) $(FUZZ_NAMES)

test-programs: $(FUZZ_TARGETS) man library $(addprefix $(BUILD)/,asan/test_userspace asan/numaplace \
	tests/bench_daemon)

# Its parser is the command's, not the library's.
$(BUILD)/fuzz/daemon_options: $(addprefix $(BUILD)/asan/userspace/cmd/,arg_units.o cmd.o cmd_args.o daemon_args.o \
	policy_args.o select_args.o unknown_option.o)

$(FUZZ_TARGETS): $(BUILD)/fuzz/%: $(BUILD)/asan/userspace/fuzz/%.o $(BUILD)/asan/userspace/fuzz/start.o $(US_ASAN_LIB)
	@mkdir -p $(@D)
	$(SANITIZE_CC)++ $(SANITIZE) -fsanitize=fuzzer -o $@ $(filter %.o,$^) $(filter %.a,$^) $(US_LIBS)

# The cost of the daemon, over 500 processes on this machine.
$(BUILD)/tests/bench_daemon: $(BUILD)/userspace/tests/bench/daemon.o $(LIBNUMAPLACE) $(LIBPOLICIES)
	@mkdir -p $(@D)
	$(CC) -o $@ $^ $(US_LIBS)

.PHONY: bench-daemon
bench-daemon: $(BUILD)/tests/bench_daemon	## CPU time of the daemon for each interval, with 500 tasks
	@echo "500 eligible tasks, 1 s:"; $< 500 20 1000 busy
	@echo "500 tasks that sleep, 1 s:"; $< 500 20 1000 idle

$(BUILD)/tests/bench_restore: $(BUILD)/userspace/tests/bench/restore.o $(LIBNUMAPLACE) $(LIBPOLICIES)
	@mkdir -p $(@D)
	$(CC) -o $@ $^ $(US_LIBS)

.PHONY: bench-restore
bench-restore: $(BUILD)/tests/bench_restore	## how long 2,000 placed tasks take to be placed elsewhere and to be restored, also beside 10,000 others; 5 s are too long
	$< 2000 0
	$< 2000 10000

# Counters for the tests where the processor has none.
$(BUILD)/tests/fake_pmu.so: userspace/tests/fake_counters.c userspace/tests/fake_counters.h
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -DFAKE_COUNTERS=true -shared -fPIC -o $@ $<

# The tutorial's policy, from its text.
$(BUILD)/tests/crowded.so: Documentation/tutorials/first-policy.md policies/policy.h
	@mkdir -p $(@D)
	sed -n '/^```c /,/^```$$/{/^```/!p}' $< | $(CC) -O2 -Wall -Werror -shared -fPIC -I policies -o $@ -x c -

-include $(patsubst %.o,%.d,$(US_LIB_OBJ) $(US_CMD_OBJ) $(US_TEST_OBJ)) $(BUILD)/userspace/tests/bench/daemon.d $(BUILD)/userspace/tests/bench/restore.d
-include $(patsubst %.o,%.d,$(US_ASAN_LIB_OBJ) $(US_ASAN_CMD_OBJ) $(US_ASAN_TEST_OBJ))

include userspace/man/man.mk
include userspace/library/library.mk

# ps of 10,000 processes, which need some 4 GiB.
$(BUILD)/tests/crowd: userspace/tests/bench/crowd.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -pthread -o $@ $<

.PHONY: bench-ps
bench-ps: $(BUILD)/numaplace $(BUILD)/tests/crowd	## how long ps takes over 10,000 tasks; a second is too long
	$(PY) userspace/tests/bench/ps.py $^
-include $(FUZZ_NAMES:%=$(BUILD)/asan/userspace/fuzz/%.d)

# Its reader of TOML alone, compared with Python's.
$(BUILD)/tests/toml: userspace/tests/base/toml/print.c $(wildcard userspace/lib/base/toml*.[ch]) userspace/lib/base/error.c userspace/lib/base/printable.c
	@mkdir -p $(@D)
	$(CC) $(filter-out -MMD -MP,$(US_CFLAGS)) $(SANITIZE) -o $@ $(filter %.c,$^) -ljansson
