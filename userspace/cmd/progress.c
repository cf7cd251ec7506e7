// SPDX-License-Identifier: GPL-2.0-only
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

#include "cmd.h"

#define WIDTH 40

bool np_progress_watched(void)
{
	return isatty(STDERR_FILENO) && !np_json;
}

void np_progress_draw(double share, uint64_t moved, uint64_t bytes, uint64_t ns)
{
	static const char full[] = "########################################";
	double rate = ns ? (double)bytes / (1 << 20) / ((double)ns / 1e9) : 0;

	if (share > 1)
		share = 1;
	fprintf(stderr, "\r[%-*.*s] %3.0f%%  %llu pages moved, %.0f MiB/s ", WIDTH,
		(int)(share * WIDTH), full, share * 100, (unsigned long long)moved, rate);
}

void np_progress_clear(void)
{
	fprintf(stderr, "\r%79s\r", "");
}
