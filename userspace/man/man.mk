# SPDX-License-Identifier: GPL-2.0-only
# build/man: a page for the program and for every command, from the tables that --help is printed from
# and from userspace/man/NAME.h2m.

MAN := $(BUILD)/man

.PHONY: man
man: $(MAN)/numaplace.1		## the manual pages, in build/man; read one with man -l FILE

$(MAN)/numaplace.1: $(BUILD)/numaplace $(BUILD)/numaplace-trace userspace/tracing/numaplace-trace userspace/man/pages userspace/man/help userspace/man/tidy.awk $(wildcard userspace/man/*.h2m)
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct 2>/dev/null || date +%s) userspace/man/pages $(BUILD)/numaplace $(MAN)
