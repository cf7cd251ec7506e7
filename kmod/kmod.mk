# SPDX-License-Identifier: GPL-2.0-only
# The module for the lab's kernels (modules) and for the running one (module).

include setup/modules.mk

KMOD_TESTS := $(BUILD)/tests/target $(BUILD)/tests/faults $(BUILD)/tests/storm $(BUILD)/tests/fuzz_files
KERNELRELEASE ?= $(shell uname -r)
KERNELDIR ?= /lib/modules/$(KERNELRELEASE)/build

.PHONY: modules module kmod-tests dkms-install

# Where there is none, the rule of the demo's says what fetches it. In `make setup-check modules` set-up has yet to run.
FETCHED_SERIES := $(strip $(foreach series,$(KMOD_SERIES),$(if $(wildcard $(CACHE)/kernels/$(series)/release),$(series))))
FETCHED_SERIES := $(if $(filter setup-check,$(MAKECMDGOALS)),$(KMOD_SERIES),$(or $(FETCHED_SERIES),$(DEMO_SERIES)))

modules: $(FETCHED_SERIES:%=$(BUILD)/modules/%/numaplace.ko) kmod-tests	## the module for every kernel series in KERNELS that make setup (6.12) or setup-check (all) has fetched
module: $(BUILD)/modules/$(KERNELRELEASE)/numaplace.ko		## the module for the running kernel
kmod-tests: $(KMOD_TESTS)

# Built with other options, a debug kernel takes another module.
$(KMOD_DEBUG): KMOD_OPTIONS := NUMAPLACE_KUNIT=m
$(foreach series,$(KMOD_DEBUG_SERIES),$(eval $(BUILD)/modules/$(series)/numaplace.ko: \
	$(wildcard $(CACHE)/kernels/$(series)/options)))

ifeq ($(filter $(KERNELRELEASE),$(KMOD_SERIES)),)
$(BUILD)/modules/$(KERNELRELEASE)/numaplace.ko: $(KMOD_SOURCES)
	@test -d $(KERNELDIR) || { echo "module: no headers of kernel $(KERNELRELEASE) in $(KERNELDIR): \
	install linux-headers-$(KERNELRELEASE)" >&2; exit 1; }
	$(kmod-copy)
	$(MAKE) -C $(KERNELDIR) M=$(kmod-folder)/src W=1 modules
	@cp $(kmod-folder)/src/numaplace.ko $@
endif

$(BUILD)/tests/storm: kmod/tests/storm.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O1 -g -Wall -Wextra -o $@ $< -pthread

$(BUILD)/tests/fuzz_files: $(wildcard kmod/tests/fuzz_*.[ch])
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Wno-missing-field-initializers -o $@ $(filter %.c,$^) -pthread

$(BUILD)/tests/faults: kmod/tests/faults.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O1 -g -Wall -Wextra -o $@ $<

# The kernel's own tests of memory, of the source that a debug kernel was built from; those that want another library are left out.
# The file written last has the names of the tests that the source has.
$(BUILD)/tests/selftests/%/built: $(CACHE)/kernels/%/options
	@mkdir -p $(@D)
	@source=$$(echo $(CACHE)/kernels/$*/usr/src/linux-headers-*) && \
	tests=$$(ls -d $$source/tools/testing/selftests/mm $$source/tools/testing/selftests/vm 2>/dev/null | head -n 1) && \
	$(MAKE) -s -C $$source headers && \
	{ $(MAKE) -s -k -C $$tests OUTPUT=$(abspath $(@D)) >$@.log 2>&1 || [ -e $(@D)/madv_populate ]; } && \
	ls $$tests | sed -n 's/\.c$$//p' >$@

KERNEL ?= 6.1

.PHONY: check-debug
CHECKER ?= debug
check-debug: DEBUG_SERIES = $(CHECKER)-$(KERNEL)
check-debug: setup-check		## the module's tests on a kernel with KASAN, lockdep and kmemleak, or with CHECKER=kcsan, built once; KERNEL=6.1, 6.12 or 7; FILES= some files of tests
	@setup/debug-kernel $(KERNEL) $(CHECKER)
	@$(MAKE) --no-print-directory all $(BUILD)/modules/$(DEBUG_SERIES)/numaplace.ko \
		$(BUILD)/tests/selftests/$(DEBUG_SERIES)/built
	NUMAPLACE_KERNELS=$(DEBUG_SERIES) $(PY) -m pytest tests/guest.toml::$(DEBUG_SERIES)-module \
		$(if $(FILES),-k "$(patsubst %,% or,$(FILES)) (log and fault)")

.PHONY: check-fuzz
check-fuzz: setup-check		## the fuzzer of the module's files on that kernel, a boot for each seed, for MINUTES (25); KERNEL=6.1, 6.12 or 7
	@setup/debug-kernel $(KERNEL)
	@$(MAKE) --no-print-directory all $(BUILD)/modules/debug-$(KERNEL)/numaplace.ko
	$(PY) kmod/tests/fuzz.py $(KERNEL) $(MINUTES)

# Each of the three engines has this time, then up to two minutes for what was too rare and two for the rest.
TORTURE_S ?= 600

.PHONY: check-torture
check-torture: setup-check		## tasks that come and go while they are placed, for TORTURE_S seconds (600); KERNEL=6.1, 6.12 or 7; ENGINE=Module, ToolByModule, ToolBySyscall alone
	@$(MAKE) --no-print-directory all > /dev/null
	$(PY) -m experiments.lab run --machine demo-2s --functional --kernel $(KERNEL) --timeout $$((3 * ($(TORTURE_S) + 240) + 600)) -- \
		env NUMAPLACE_TORTURE_S=$(TORTURE_S) .venv/bin/python -m pytest -q -s --disable-warnings -p no:cacheprovider \
		'kmod/tests/guest/any/test_torture.py$(if $(ENGINE),::test_torture[$(ENGINE)])'

.PHONY: kinds-of-pages
kinds-of-pages: setup-check		## what becomes of each kind of page by module and system calls, as a table; every kernel series
	@$(MAKE) --no-print-directory all > /dev/null
	@$(PY) kmod/tests/print_kinds.py

# 77 is dkms's answer where dkms.conf excludes the kernel: later ones are built for when they are installed.
dkms-install:			## hands the module to dkms, which builds it for the running kernel and for each that is installed later
	dkms add $(CURDIR)
	dkms install numaplace/$(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf) || { status=$$?; \
		test $$status -eq 77 && echo "dkms-install: skipped for kernel $(KERNELRELEASE), which dkms.conf excludes: \
	see Documentation/how-to/real-machines.md"; }
