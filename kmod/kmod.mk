# SPDX-License-Identifier: GPL-2.0-only
# The module for the lab's kernels (modules) and for the running one (module).

KMOD_SERIES := $(shell awk '/^[0-9]/ { print $$1 }' KERNELS)
KMOD_SOURCES := Kbuild $(wildcard kmod/*.[ch] kmod/uapi/*.h kmod/tests/kunit/*.[ch])
KMOD_TESTS := $(BUILD)/tests/target $(BUILD)/tests/faults
KMOD_DEBUG := $(BUILD)/modules/debug/numaplace.ko
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/numaplace
KERNELRELEASE ?= $(shell uname -r)
KERNELDIR ?= /lib/modules/$(KERNELRELEASE)/build

.PHONY: modules module kmod-tests dkms-install

modules: $(KMOD_SERIES:%=$(BUILD)/modules/%/numaplace.ko) kmod-tests	## the module for every kernel series in KERNELS
module: $(BUILD)/modules/$(KERNELRELEASE)/numaplace.ko		## the module for the running kernel
kmod-tests: $(KMOD_TESTS)

# Kbuild leaves what it makes among the sources, so that every kernel gets sources of its own.
define kmod-copy
	$(if $(word 2,$(CURDIR)),$(error module: a kernel's build takes no path with blanks, as in '$(CURDIR)': build it elsewhere))
	@mkdir -p $(@D)/src
	@cp -p --parents $(KMOD_SOURCES) $(@D)/src
endef

$(KMOD_SERIES:%=$(BUILD)/modules/%/numaplace.ko) $(KMOD_DEBUG): \
		$(BUILD)/modules/%/numaplace.ko: $(KMOD_SOURCES)
	$(kmod-copy)
	+setup/kernel-build $* M=$(CURDIR)/$(@D)/src W=1 KCFLAGS=-Werror $(KMOD_OPTIONS) modules
	@cp $(@D)/src/*.ko $(@D)

# Built with other options, the debug kernel takes another module.
$(KMOD_DEBUG): KMOD_OPTIONS := NUMAPLACE_KUNIT=m
$(KMOD_DEBUG): $(wildcard $(CACHE)/kernels/debug/options)

ifeq ($(filter $(KERNELRELEASE),$(KMOD_SERIES)),)
$(BUILD)/modules/$(KERNELRELEASE)/numaplace.ko: $(KMOD_SOURCES)
	@test -d $(KERNELDIR) || { echo "module: no headers of kernel $(KERNELRELEASE) in $(KERNELDIR): \
	install linux-headers-$(KERNELRELEASE)" >&2; exit 1; }
	$(kmod-copy)
	$(MAKE) -C $(KERNELDIR) M=$(CURDIR)/$(@D)/src W=1 modules
	@cp $(@D)/src/numaplace.ko $@
endif

$(BUILD)/tests/target: $(wildcard kmod/tests/target/*.c) kmod/tests/target/target.h
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O1 -g -Wall -Wextra -o $@ $(filter %.c,$^) -lnuma -pthread

$(BUILD)/tests/faults: kmod/tests/faults.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O1 -g -Wall -Wextra -o $@ $<

.PHONY: check-debug
check-debug: setup		## the module's tests on a kernel with KASAN, lockdep and kmemleak, built once
	@setup/debug-kernel
	@$(MAKE) --no-print-directory all $(KMOD_DEBUG)
	NUMAPLACE_KERNELS=debug $(PY) -m pytest tests/guest.toml -k "kmod/tests or kernel"

.PHONY: check-trace
check-trace: setup		## bpftrace scripts and perf beside the module's counts, on every kernel series in KERNELS
	@$(MAKE) --no-print-directory all
	$(PY) -m pytest kmod/tests/check_trace.py

dkms-install:			## hands the module to dkms, which builds it for every kernel installed
	dkms add $(CURDIR)
	dkms install numaplace/$(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
