/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs bpftrace until it is told to end, or for a time, or while a program runs. */
#ifndef NUMAPLACE_BPFTRACE_H
#define NUMAPLACE_BPFTRACE_H

struct np_bpftrace {
	const char *script; /* path */
	const char *pid;    /* the script's argument, or NULL */
	unsigned int us;    /* for how long; 0: until it is told to end */
	char **command;	    /* started when tracing has begun, or NULL */
};

/*
 * bpftrace's output goes to stdout as it comes. SIGINT, SIGTERM, the end of the
 * time and of the program end it in the way that shows its maps. The program's
 * exit status as env(1) has it, else 0, or 1 after printing an error.
 */
int np_bpftrace_run(const struct np_bpftrace *tracer);

#endif
