# SPDX-License-Identifier: GPL-2.0-only
# The experiments' programs and their entry in the command line.

EXP_SRC    := experiments/workloads
EXP_OBJ    := $(BUILD)/experiments
# -ffp-contract=off: the triad's check is exact, a fused multiply-add must not hide in it.
# -fno-tree-loop-distribute-patterns: a copy is to be the loop that stands there, not memcpy().
EXP_CFLAGS := -std=gnu11 -O3 -g -Wall -Wextra -Wno-unused-parameter -Werror -ffp-contract=off -fno-tree-loop-distribute-patterns \
	-D_GNU_SOURCE
EXP_BUILT_WITH = $(shell $(CC) --version | head -n 1), $(EXP_CFLAGS)
EXP_DEFINES = -DNP_VERSION='"$(VERSION)"' -DNP_BUILT_WITH='"$(EXP_BUILT_WITH)"'

EXP_MEM   := $(addprefix mem/,np_mem options worker stream stream_variants chase cachetest sort update mix handover) pages emit
EXP_HOT   := $(addprefix hot/,np_hot work place ballast) redis/histogram pages emit
EXP_MM    := mm/np_mm pages emit
EXP_FILES := $(addprefix files/,np_files shared stream sweep) pages emit
EXP_REDIS := $(addprefix redis/,np_redis redis_workloads redis_tokens redis_data client histogram) emit

$(BUILD)/np-mem: $(EXP_MEM:%=$(EXP_OBJ)/%.o)
	$(CC) -o $@ $^ -pthread -lnuma -ljansson -lm

# By this name it is np-mem triad.
$(BUILD)/np-triad: $(BUILD)/np-mem
	ln -sf $(<F) $@

# A scheduler in BPF, which the kernel links to itself when it is loaded. No other program needs clang.
SCX := $(if $(shell command -v clang),$(BUILD)/lab/home_node.bpf.o)
$(BUILD)/lab/home_node.bpf.o: $(BUILD)/lab/%.bpf.o: experiments/mechanisms/scx/%.bpf.c
	@mkdir -p $(@D)
	clang -target bpf -mcpu=v3 -g -O2 -Wall -Wextra -Werror -Wno-unused-parameter -c -o $@ $<

$(BUILD)/np-hot: $(EXP_HOT:%=$(EXP_OBJ)/%.o)
	$(CC) -o $@ $^ -pthread -lnuma -ljansson -lm

$(BUILD)/np-mm: $(EXP_MM:%=$(EXP_OBJ)/%.o)
	$(CC) -o $@ $^ -lnuma -ljansson

$(BUILD)/np-files: $(EXP_FILES:%=$(EXP_OBJ)/%.o)
	$(CC) -o $@ $^ -lnuma -ljansson

$(BUILD)/np-redis: $(EXP_REDIS:%=$(EXP_OBJ)/%.o)
	$(CC) -o $@ $^ -lhiredis -ljansson -lm

$(EXP_OBJ)/%.o: $(EXP_SRC)/%.c experiments/experiments.mk
	@mkdir -p $(@D)
	$(CC) $(EXP_CFLAGS) $(EXP_DEFINES) -MMD -MP -c -o $@ $<

$(BUILD)/tests/test_experiments: $(EXP_SRC)/redis/tests/units.c $(EXP_SRC)/redis/histogram.c \
		$(EXP_SRC)/redis/redis_data.c $(EXP_SRC)/redis/histogram.h $(EXP_SRC)/redis/redis_data.h $(BUILD)/tests/cunit_main.o
	@mkdir -p $(@D)
	$(CC) $(EXP_CFLAGS) -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -o $@ $(filter %.c %.o,$^) -lcunit -lm

test-programs: $(BUILD)/tests/test_experiments

-include $(wildcard $(EXP_OBJ)/*.d $(EXP_OBJ)/*/*.d)

# The Python programs of pyproject.toml: a line there is NAME = "MODULE:FUNCTION".
PY_PROGRAMS := $(shell sed -n 's/^\(numaplace-[a-z-]*\) = ".*/\1/p' pyproject.toml)

$(PY_PROGRAMS:%=$(BUILD)/%): $(BUILD)/%: experiments/program.sh pyproject.toml
	@mkdir -p $(@D)
	sed "s/@ENTRY@/$$(sed -n 's/^$* = "\(.*\)"/\1/p' pyproject.toml)/" $< >$@
	chmod 755 $@

.PHONY: tools
tools: $(SCX) $(BUILD)/np-mem $(BUILD)/np-triad $(BUILD)/np-hot $(BUILD)/np-mm $(BUILD)/np-files $(BUILD)/np-redis $(PY_PROGRAMS:%=$(BUILD)/%)

include experiments/lab/plugin.mk
include experiments/bench/lab/bench_lab.mk
include experiments/bench/migration/migration.mk
include experiments/workloads/stealing/stealing.mk
include experiments/commands/judge/judge.mk

# The plain triad is the lab's check program, which knows nothing of np-mem, at -O3 and nothing else.
$(BUILD)/bench/plain-triad: experiments/bench/lab/programs/triad.c
	@mkdir -p $(@D)
	$(CC) -O3 -o $@ $< -pthread

$(BUILD)/bench/clock: experiments/workloads/mem/clock.c $(EXP_OBJ)/emit.o
	@mkdir -p $(@D)
	$(CC) $(EXP_CFLAGS) -o $@ $^ -ljansson

BENCH_ROUNDS ?= 15

.PHONY: bench-kernels
bench-kernels: setup-check tools $(BUILD)/bench/plain-triad $(BUILD)/bench/clock	## np-mem beside likwid-bench and a plain triad, on this machine; BENCH_ROUNDS=15, 15 minutes
	$(PY) -m experiments.workloads.mem.bench_kernels --rounds $(BENCH_ROUNDS)

.PHONY: evidence
evidence: setup-check			## every suite on its machines of the lab, 5 hours in calls of TIME=1500s that go on where the last one stopped, then one page
	@$(MAKE) --no-print-directory tools modules
	$(PY) -m experiments.commands.campaign.evidence $(if $(TIME),--time $(TIME))

.PHONY: check-statistics
check-statistics:			## what the analysis, worth and judge answer of runs whose truth is known; ONLY='worth *', 4 minutes
	$(PY) -m experiments.bench.drawn $(if $(ONLY),--only '$(ONLY)')

.PHONY: aa-lab
AA_SEEDS ?= 1 2 3 4 5 6 7 8 9 10
AA_RESULT := results/aa/aa-lab.txt
aa-lab: $(AA_SEEDS:%=results/aa/%/done)	## false positives of measured runs of one policy as two levels: contention in the timed lab, for each of AA_SEEDS
	$(PY) -m experiments.bench.drawn --measured $(AA_SEEDS:%=results/aa/%) >$(AA_RESULT); status=$$?; cat $(AA_RESULT); exit $$status

# One of its runs, by its seed. Those that are done are kept, and one that was interrupted is made anew.
aa-lab-%: results/aa/%/done ;

.PRECIOUS: results/aa/%/done
results/aa/%/done:
	$(MAKE) tools
	$(BUILD)/numaplace-experiment run contention --quick --lab --placements none,none#2 --repeats 5 --seed $* \
		--out results/aa/$* --force
	touch $@

.PHONY: machines
machines: tools $(BUILD)/libmodel.so	## build/machines/index.html: machines' figures beside the contention model's predictions
	$(PY) -m experiments.machines --out $(BUILD)/machines

RUN ?= results/demo

# Of the run that Documentation/measured/demo.txt is of: report.png, and the figure of one workload.
.PHONY: report-images
report-images: setup-check	## the README's pictures, from the results of make demo or of RUN=FOLDER
	$(PY) -m experiments.commands.experiment report $(RUN) >/dev/null
	chromium --headless=new --no-sandbox --hide-scrollbars --window-size=1100,1905 --virtual-time-budget=5000 \
		--screenshot=Documentation/images/report.png $(RUN)/report.html
	cp $(RUN)/figures/contention-0L2R.svg Documentation/images/placement.svg

.PHONY: campaign-image
campaign-image:			## Documentation/images/campaign.png, the report of the campaign of make check-fleet, which it runs
	PICTURE=$(CURDIR)/Documentation/images/campaign.png $(MAKE) check-fleet

.PHONY: check-worth
check-worth: setup-check tools modules	## numaplace worth of programs of the lab, until ten react, beside longer runs of each placement; hours, goes on where it was ended
	$(PY) -m experiments.commands.worth.check $(if $(TIME),--time $(TIME))
