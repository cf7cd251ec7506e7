# SPDX-License-Identifier: GPL-2.0-only
# Both modules for the lab's kernels: MODULES/SERIES/numaplace.ko and numaplace_lab.ko.

MODULES ?= build/modules
# OWN_KERNEL: a kernel that a user has put into the cache, whose compiler may warn of other things
KMOD_SERIES := $(shell awk '/^[0-9]/ { print $$1 }' KERNELS) $(OWN_KERNEL)
KMOD_FLAGS := W=1 $(if $(OWN_KERNEL),,KCFLAGS=-Werror)
KMOD_SOURCES := Kbuild $(wildcard kmod/*.[ch] kmod/uapi/*.h kmod/tests/kunit/*.[ch])
KMOD_DEBUG_SERIES := $(KMOD_SERIES:%=debug-%) $(KMOD_SERIES:%=kcsan-%)
KMOD_DEBUG := $(KMOD_DEBUG_SERIES:%=$(MODULES)/%/numaplace.ko)

CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/numaplace
# Kernels' own makefiles take no path with blanks: in such a tree modules are built in the cache, in a folder for the tree.
KMOD_BUILD := $(if $(word 2,$(CURDIR)),$(CACHE)/build-$(firstword $(shell printf '%s' '$(CURDIR)' | cksum)))
kmod-folder = $(if $(KMOD_BUILD),$(KMOD_BUILD)/$(@D),$(abspath $(@D)))

# Kbuild leaves what it makes among the sources, so that every kernel gets sources of its own.
define kmod-copy
	$(if $(word 2,$(kmod-folder)),$(error module: a kernel's build takes no path with blanks, as in '$(kmod-folder)': set XDG_CACHE_HOME to another))
	@mkdir -p $(@D) $(kmod-folder)/src
	@cp -p --parents $(KMOD_SOURCES) $(kmod-folder)/src
endef

$(KMOD_SERIES:%=$(MODULES)/%/numaplace.ko) $(KMOD_DEBUG): \
		$(MODULES)/%/numaplace.ko: $(KMOD_SOURCES)
	$(kmod-copy)
	+setup/kernel-build $* M=$(kmod-folder)/src $(KMOD_FLAGS) $(KMOD_OPTIONS) modules
	@cp $(kmod-folder)/src/*.ko $(@D)
	@[ -e $(@D)/src ] || ln -sfn $(kmod-folder)/src $(@D)

LAB_GUEST_SRC := $(addprefix experiments/lab/guest/,Kbuild main.c counters.c tasks.c lab.h shared.h)
LAB_GUEST_KO := $(KMOD_SERIES:%=$(MODULES)/%/numaplace_lab.ko)

$(LAB_GUEST_KO): $(MODULES)/%/numaplace_lab.ko: $(LAB_GUEST_SRC)
	@mkdir -p $(@D) $(kmod-folder)/lab
	cp $(LAB_GUEST_SRC) $(kmod-folder)/lab
	+setup/kernel-build $* M=$(kmod-folder)/lab $(KMOD_FLAGS) modules
	cp $(kmod-folder)/lab/numaplace_lab.ko $@
	@[ -e $(@D)/lab ] || ln -sfn $(kmod-folder)/lab $(@D)

# A kernel that is fetched or built anew takes no module of the one before.
$(foreach series,$(filter-out $(OWN_KERNEL),$(KMOD_SERIES)) $(KMOD_DEBUG_SERIES),$(if $(word 2,$(CACHE)),,$(eval \
	$(MODULES)/$(series)/numaplace.ko $(MODULES)/$(series)/numaplace_lab.ko: $(wildcard $(CACHE)/kernels/$(series)/release))))
