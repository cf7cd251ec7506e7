# SPDX-License-Identifier: GPL-2.0-only
# The simulation: a plugin for this machine's QEMU.

LAB_PLUGIN_SRC := $(wildcard experiments/lab/plugin/*.c)
LAB_MODEL_SRC  := $(wildcard policies/model/*.c)
LAB_PLUGIN_OBJ := $(LAB_PLUGIN_SRC:%.c=$(BUILD)/plugin/%.o) $(LAB_MODEL_SRC:%.c=$(BUILD)/plugin/%.o)
LAB_PLUGIN_PARTS := $(filter-out %/plugin.o,$(LAB_PLUGIN_OBJ))

# QEMU 9 refuses plugins that speak version 1 of its interface; version 3 came with 9.1. What was tested is in
# simulated.py, and printed when a machine starts: with another QEMU the functional lab may still work.
LAB_QEMU_VERSION = $(shell qemu-system-x86_64 --version 2>/dev/null | sed -n 's/.*version \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
LAB_QEMU_API = $(shell set -- $(LAB_QEMU_VERSION) 7 2; \
	if [ $$1 -lt 9 ]; then echo 1; elif [ $$1 -eq 9 ] && [ $$2 -eq 0 ]; then echo 2; else echo 3; fi)

LAB_PLUGIN_CFLAGS := -std=gnu11 -D_GNU_SOURCE -O3 -flto -g -fPIC -fvisibility=hidden -fno-plt \
	-Wall -Wextra -Werror

$(BUILD)/lab/plugin.so: $(LAB_PLUGIN_OBJ)
	@mkdir -p $(@D)
	$(CC) $(LAB_PLUGIN_CFLAGS) -shared -o $@ $^ -lm

# Changes when QEMU's interface does: a plugin for another version is built anew.
LAB_QEMU_STAMP := $(BUILD)/plugin/qemu-api

.PHONY: FORCE
$(LAB_QEMU_STAMP): FORCE
	@mkdir -p $(@D)
	@echo $(LAB_QEMU_API) | cmp -s - $@ || echo $(LAB_QEMU_API) >$@

$(BUILD)/plugin/%.o: %.c experiments/lab/plugin.mk $(LAB_QEMU_STAMP)
	@mkdir -p $(@D)
	$(CC) $(LAB_PLUGIN_CFLAGS) -MMD -MP -DNP_QEMU_API=$(LAB_QEMU_API) -c -o $@ $<

-include $(LAB_PLUGIN_OBJ:.o=.d)

# Its parts, without QEMU, under the sanitizers.
LAB_PLUGIN_TEST_SRC := $(wildcard experiments/lab/plugin/tests/*.c) \
	$(filter-out %/plugin.c,$(LAB_PLUGIN_SRC)) $(LAB_MODEL_SRC)

$(BUILD)/tests/test_lab_plugin: $(LAB_PLUGIN_TEST_SRC) $(wildcard experiments/lab/plugin/*.h \
		experiments/lab/plugin/tests/*.h policies/model/*.h policies/model/*.def) $(BUILD)/tests/cunit_main.o
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Werror -fsanitize=address,undefined \
		-fno-sanitize-recover=all -o $@ -Wl,--wrap=syscall,--wrap=np_host_ns $(filter %.c %.o,$^) \
		-lcunit -lm -pthread

test-programs: $(BUILD)/tests/test_lab_plugin

# Calls the plugin as QEMU does, without QEMU.
LAB_REPLAY := $(BUILD)/lab/replay

$(LAB_REPLAY): experiments/lab/validate/replay.c experiments/lab/plugin/qemu_api.h experiments/lab/guest/shared.h \
		$(LAB_QEMU_STAMP)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -DNP_QEMU_API=$(LAB_QEMU_API) -rdynamic \
		-o $@ $< -ldl

# Programs that know nothing of the lab. No vectors: what a simple loop costs.
LAB_PROGRAMS := $(addprefix $(BUILD)/lab/programs/,answers chase rounds triad)

$(LAB_PROGRAMS): $(BUILD)/lab/programs/%: experiments/lab/validate/programs/%.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -o $@ $< -pthread

.PHONY: lab-simulation bench-lab tools modules
bench-lab: setup lab-simulation	## the simulated lab beside the papers and its machine files, in tables; more than an hour
	$(PY) -m experiments.lab.validate $(CLAIMS)

lab-simulation: $(BUILD)/lab/plugin.so $(LAB_REPLAY) $(LAB_GUEST_KO) $(LAB_PROGRAMS)	## the simulated lab: QEMU's plugin, the guests' modules
tools: $(BUILD)/lab/plugin.so $(LAB_REPLAY) $(LAB_PROGRAMS)
modules: $(LAB_GUEST_KO)
