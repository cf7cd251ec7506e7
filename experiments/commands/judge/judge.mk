# SPDX-License-Identifier: GPL-2.0-only
# Judgements of a kernel with a regression planted in one workload, and of a kernel beside itself.

JUDGE_SLOW_KO := $(KMOD_SERIES:%=$(BUILD)/judge/%/numaplace_slow.ko)
JUDGE_SLOW_SRC := $(addprefix experiments/commands/judge/slow/,Kbuild numaplace_slow.c)

$(JUDGE_SLOW_KO): $(BUILD)/judge/%/numaplace_slow.ko: $(JUDGE_SLOW_SRC)
	@mkdir -p $(kmod-folder)/slow $(@D)
	cp $^ $(kmod-folder)/slow
	+setup/kernel-build $* M=$(kmod-folder)/slow $(KMOD_FLAGS) modules
	cp $(kmod-folder)/slow/numaplace_slow.ko $@

test-programs: $(BUILD)/judge/6.12/numaplace_slow.ko

BLOCKS ?= 24

.PHONY: check-judge
check-judge: tools modules $(BUILD)/judge/6.12/numaplace_slow.ko	## numaplace judge of a kernel that is 5 % slower in one workload, and beside itself; BLOCKS=24 of three boots are kept in results/check-judge, in calls of TIME=1500s
	$(PY) -m experiments.commands.judge.check --blocks $(BLOCKS) $(if $(TIME),--time $(TIME))
