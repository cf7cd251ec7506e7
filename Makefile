# SPDX-License-Identifier: GPL-2.0-only
# Targets only. What is built from what stands in the parts' own .mk files.

.DEFAULT_GOAL := all
BUILD := build
VENV  := .venv
PY    := $(VENV)/bin/python
VERSION := $(shell sed -n 's/^.define NUMAPLACE_VERSION[^"]*"\(.*\)"/\1/p' kmod/uapi/numaplace.h)
DEMO_SERIES := $(shell sed -n 's/^DEMO_SERIES=\([^ ]*\).*/\1/p' setup/common.sh)

# Looked for by the first recipe that compiles.
ifeq ($(origin CC),default)
CC = $(eval LACKS := $(shell setup/lacks))$(if $(LACKS),$(error $(LACKS)))$(eval CC := cc)cc
endif

include setup/setup.mk
include kmod/kmod.mk
include policies/policies.mk
include userspace/userspace.mk
include experiments/experiments.mk
include tests/tests.mk
include Documentation/sphinx/sphinx.mk
include Documentation/measured/measured.mk
include setup/install.mk
include setup/package.mk
include setup/image.mk

.PHONY: all setup demo demo-as-measured demo-debian12 demo-debian13 check check-quick check-full check-full-age check-debian12 check-debian13 check-release \
	style clean help

all: tools modules		## the command line, the experiments' programs, the module for every kernel in KERNELS that set-up has fetched

demo: setup			## the whole job once: boots machines, runs workloads of each kind under four placements, writes results/demo/report.html
	@$(MAKE) --no-print-directory tools $(addprefix $(BUILD)/modules/$(DEMO_SERIES)/,numaplace.ko numaplace_lab.ko)
	$(BUILD)/numaplace experiment demo

demo-as-measured:			## make demo, then whether it ended as Documentation/measured/demo.txt says
	@mkdir -p $(BUILD)
	@bash -o pipefail -c '$(MAKE) --no-print-directory demo | tee $(BUILD)/demo.txt'
	@$(PY) -m experiments.as_measured $(BUILD)/demo.txt

demo-debian12:			## in a bare Debian 12 root, as root: make demo-as-measured
demo-debian13:			## the same in a bare Debian 13 root
demo-debian12 demo-debian13: demo-debian%:
	@setup/debian $* make demo-as-measured

check: setup-check			## what .ci/run calls, 15 minutes; SERIES=all boots 6.1 and 7 also where nothing of theirs has changed
	@$(MAKE) --no-print-directory -j$(TEST_WORKERS) all test-programs
	TEST_WORKERS=$(TEST_WORKERS) SERIES=$(SERIES) $(PY) -m tests.check

check-quick: setup-check		## within 3 minutes: the tests that boot no machine and take no longer than 10 s, and some inside the lab
	@$(MAKE) --no-print-directory -j$(TEST_WORKERS) all test-programs
	TEST_WORKERS=$(TEST_WORKERS) $(PY) -m tests.check quick

check-full: setup-check		## the rest, in pieces, each kept until its inputs change; MINUTES=25 begins none later, PIECE='kernel *' some
	@$(MAKE) --no-print-directory -j$(TEST_WORKERS) all test-programs
	$(PY) -m tests.full run $(if $(MINUTES),--minutes $(MINUTES)) $(if $(PIECE),'$(PIECE)')

check-full-age: setup-check		## the pieces of check-full, and which are older than their inputs
	@$(PY) -m tests.full age $(if $(PIECE),'$(PIECE)')

check-debian12:			## in a bare Debian 12 root, as root: make check-release
check-debian13:			## the same in a bare Debian 13 root
check-debian12 check-debian13: check-debian%:
	@setup/debian $* make check-release

check-release: setup-check		## what tells whether a release of Debian will do: set-up, build, the tests that need no boot, one timed boot
	@$(MAKE) --no-print-directory all
	$(PY) -m pytest -m "not lab or timed_boot"

style: setup-check		## the code and the documents: clang-format, checkpatch, sparse, ruff, shellcheck, codespell, words
	@$(MAKE) --no-print-directory $(STYLE_MODULES)
	$(PY) -m pytest -q tests/test_style.py tests/test_words.py

clean:				## removes what was built here, not the downloads
	$(RM) -r $(BUILD)

help:				## this list
	@sed -n 's/^\([a-z0-9-]*\):.*##[[:space:]]*/\1\t/p' $(MAKEFILE_LIST) | expand -t 18
