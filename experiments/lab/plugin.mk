# SPDX-License-Identifier: GPL-2.0-only
# The simulation: a plugin for QEMU 10.0 to 11.0, and one for newer ones, whose plugin interface is version 7.

LAB_PLUGIN_SRC := $(wildcard experiments/lab/plugin/*.c experiments/lab/plugin/caches/*.c experiments/lab/plugin/decode/*.c)
LAB_MODEL_SRC  := $(wildcard policies/model/*.c)
LAB_PLUGIN_OBJ := $(LAB_PLUGIN_SRC:%.c=$(BUILD)/plugin/%.o) $(LAB_MODEL_SRC:%.c=$(BUILD)/plugin/%.o)
# What calls QEMU is compiled for either.
LAB_PLUGIN_7_OBJ := $(foreach name,plugin calls instrument marker registers,$(BUILD)/plugin/experiments/lab/plugin/$(name)-7.o)
LAB_PLUGIN_PARTS := $(filter-out $(LAB_PLUGIN_7_OBJ:-7.o=.o),$(LAB_PLUGIN_OBJ))

LAB_PLUGIN_CFLAGS := -std=gnu11 -D_GNU_SOURCE -O3 -flto=auto -g -fPIC -fvisibility=hidden -fno-plt \
	-Wall -Wextra -Wno-unused-parameter -Werror

$(BUILD)/lab/plugin.so: $(LAB_PLUGIN_OBJ)
	@mkdir -p $(@D)
	$(CC) $(LAB_PLUGIN_CFLAGS) -shared -o $@ $^ -lm -Wl,-Bstatic -lcapstone -Wl,-Bdynamic -Wl,--exclude-libs,ALL

$(BUILD)/lab/plugin-7.so: $(LAB_PLUGIN_7_OBJ) $(LAB_PLUGIN_PARTS)
	@mkdir -p $(@D)
	$(CC) $(LAB_PLUGIN_CFLAGS) -shared -o $@ $^ -lm -Wl,-Bstatic -lcapstone -Wl,-Bdynamic -Wl,--exclude-libs,ALL

$(BUILD)/plugin/%-7.o: %.c experiments/lab/plugin.mk
	@mkdir -p $(@D)
	$(CC) $(LAB_PLUGIN_CFLAGS) -DNP_QEMU_API_VERSION=7 -MMD -MP -c -o $@ $<

$(BUILD)/plugin/%.o: %.c experiments/lab/plugin.mk
	@mkdir -p $(@D)
	$(CC) $(LAB_PLUGIN_CFLAGS) -MMD -MP -c -o $@ $<

-include $(LAB_PLUGIN_OBJ:.o=.d) $(LAB_PLUGIN_7_OBJ:.o=.d)

# Runs in the guest, from the host's files.
$(BUILD)/lab/watch: experiments/lab/watch/watch.c experiments/lab/guest/shared.h experiments/lab/plugin.mk
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -o $@ $<

# Its parts, without QEMU, under the sanitizers.
LAB_PLUGIN_TEST_SRC := $(wildcard experiments/lab/plugin/tests/*.c) \
	$(filter-out %/plugin.c %/calls.c %/instrument.c %/marker.c %/registers.c,$(LAB_PLUGIN_SRC)) $(LAB_MODEL_SRC)

$(BUILD)/tests/test_lab_plugin: $(LAB_PLUGIN_TEST_SRC) $(wildcard experiments/lab/plugin/*.h experiments/lab/plugin/*/*.h \
		policies/model/*.h policies/model/*.def) $(BUILD)/tests/cunit_main.o
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Wno-unused-parameter -Werror -fsanitize=address,undefined \
		-fno-sanitize-recover=all -rdynamic -o $@ -Wl,--wrap=syscall,--wrap=np_host_ns $(filter %.c %.o,$^) \
		-lcunit -lm -lcapstone -pthread

# The same, with the threads of its CPUs watched.
$(BUILD)/tests/test_lab_plugin_races: $(BUILD)/tests/test_lab_plugin
	$(CC) -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Wno-unused-parameter -Werror -Wno-tsan -fsanitize=thread -rdynamic -o $@ \
		-Wl,--wrap=syscall,--wrap=np_host_ns $(LAB_PLUGIN_TEST_SRC) $(BUILD)/tests/cunit_main.o -lcunit -lm -lcapstone -pthread

test-programs: $(BUILD)/tests/test_lab_plugin $(BUILD)/tests/test_lab_plugin_races

.PHONY: lab-simulation tools modules
FETCHED_GUEST_KO := $(FETCHED_SERIES:%=$(BUILD)/modules/%/numaplace_lab.ko)
lab-simulation: $(BUILD)/lab/plugin.so $(BUILD)/lab/plugin-7.so $(BUILD)/lab/watch $(FETCHED_GUEST_KO)	## the simulated lab: QEMU's plugin, the guests' modules
tools: $(BUILD)/lab/plugin.so $(BUILD)/lab/plugin-7.so $(BUILD)/lab/watch
modules: $(FETCHED_GUEST_KO)
