# SPDX-License-Identifier: GPL-2.0-only
# Both modules for the lab's kernels: MODULES/SERIES/numaplace.ko and numaplace_lab.ko.

MODULES ?= build/modules
KMOD_SERIES := $(shell awk '/^[0-9]/ { print $$1 }' KERNELS)
KMOD_SOURCES := Kbuild $(wildcard kmod/*.[ch] kmod/uapi/*.h kmod/tests/kunit/*.[ch])
KMOD_DEBUG := $(KMOD_SERIES:%=$(MODULES)/debug-%/numaplace.ko)

# Kbuild leaves what it makes among the sources, so that every kernel gets sources of its own.
define kmod-copy
	$(if $(word 2,$(abspath $@)),$(error module: a kernel's build takes no path with blanks, as in '$(abspath $@)': build it elsewhere))
	@mkdir -p $(@D)/src
	@cp -p --parents $(KMOD_SOURCES) $(@D)/src
endef

$(KMOD_SERIES:%=$(MODULES)/%/numaplace.ko) $(KMOD_DEBUG): \
		$(MODULES)/%/numaplace.ko: $(KMOD_SOURCES)
	$(kmod-copy)
	+setup/kernel-build $* M=$(abspath $(@D))/src W=1 KCFLAGS=-Werror $(KMOD_OPTIONS) modules
	@cp $(@D)/src/*.ko $(@D)

LAB_GUEST_SRC := $(addprefix experiments/lab/guest/,Kbuild main.c clock.c counters.c ticks.c ticks_count.c lab.h shared.h)
LAB_GUEST_KO := $(KMOD_SERIES:%=$(MODULES)/%/numaplace_lab.ko)

$(LAB_GUEST_KO): $(MODULES)/%/numaplace_lab.ko: $(LAB_GUEST_SRC)
	@mkdir -p $(@D)/lab
	cp $^ $(@D)/lab
	+setup/kernel-build $* M=$(abspath $(@D))/lab W=1 KCFLAGS=-Werror modules
	cp $(@D)/lab/numaplace_lab.ko $@
