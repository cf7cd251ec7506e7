/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs another program: text in, text out, in bounded time. */
#ifndef NUMAPLACE_LIB_RUN_PROGRAM_H
#define NUMAPLACE_LIB_RUN_PROGRAM_H

#include <signal.h>
#include <stddef.h>

#include "error.h"

struct np_run_limits {
	double seconds;
	size_t bytes; /* of its standard output */
	const volatile sig_atomic_t
		*stop; /* not waited for any longer once this is set; NULL: none */
};

/*
 * Starts the program at path, without a shell, as the leader of a process group that is killed
 * at its end; if the caller is killed, the program is killed, without those that it has started. Its
 * standard input is a file with this text, so that no writer waits for a reader. It has no other
 * descriptor of the caller, and every signal as it is by default. *out is what it printed, *out_len
 * bytes with a NUL behind them, which the caller frees. 0, or -errno with why in err: one line
 * without the program's name.
 */
int np_run_program(const char *path, const char *text, size_t len,
		   const struct np_run_limits *limits, char **out, size_t *out_len,
		   struct np_err *err);

#endif
