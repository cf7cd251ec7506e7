/* SPDX-License-Identifier: GPL-2.0-only */
/* Gives running tasks other CPUs and another memory policy. */
#ifndef _NUMAPLACE_PLACE_H
#define _NUMAPLACE_PLACE_H

#include <linux/cpumask.h>
#include <linux/types.h>

enum numaplace_place_threads {
	NUMAPLACE_THREADS_ALL,
	NUMAPLACE_THREADS_ONE,
};

/**
 * struct numaplace_place_request - one line written to place
 * @pid: process, or thread where threads is ONE
 * @threads: whether the whole process is meant
 * @cpus: the CPUs; empty to leave them alone
 * @mem: whether to install the memory policy of the caller
 * @inherit: whether children come under control too
 */
struct numaplace_place_request {
	pid_t pid;
	unsigned int threads;
	cpumask_var_t cpus;
	bool mem;
	bool inherit;
};

int numaplace_place(const struct numaplace_place_request *request);

#endif
