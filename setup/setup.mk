# SPDX-License-Identifier: GPL-2.0-only

.PHONY: setup

setup:				## installs what is missing, says what and why; under a second when nothing is
	@setup/run

$(BUILD)/numaplace-lab: experiments/lab/numaplace-lab.sh
	@mkdir -p $(@D)
	install -m 755 $< $@

tools: $(BUILD)/numaplace-lab
