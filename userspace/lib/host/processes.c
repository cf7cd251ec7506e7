// SPDX-License-Identifier: GPL-2.0-only
#include "processes.h"

#include <errno.h>
#include <stdlib.h>

#include "proc.h"

unsigned long np_processes_readings;

static int by_pid(const void *a, const void *b)
{
	pid_t x = ((const struct np_process *)a)->pid, y = ((const struct np_process *)b)->pid;

	return (x > y) - (x < y);
}

/* False for one that has exited, and for kernel threads. */
static bool read_process(pid_t pid, struct np_process *p)
{
	struct np_proc_stat st;

	if (np_proc_stat(pid, &st) || st.kernel_thread || np_proc_has_ended(&st))
		return false;
	*p = (struct np_process) { pid, st.ppid, st.start };
	return true;
}

int np_processes_read(struct np_processes *all)
{
	pid_t *pids;
	size_t n;
	int e = np_proc_all(&pids, &n);

	np_processes_readings++;
	*all = (struct np_processes) { 0 };
	if (e)
		return e;
	all->process = calloc(n + 1, sizeof(*all->process));
	for (size_t i = 0; all->process && i < n; i++)
		all->n += read_process(pids[i], &all->process[all->n]);
	free(pids);
	if (!all->process)
		return -ENOMEM;
	qsort(all->process, all->n, sizeof(*all->process), by_pid);
	return 0;
}

void np_processes_free(struct np_processes *all)
{
	free(all->process);
	*all = (struct np_processes) { 0 };
}

bool np_processes_find(const struct np_processes *all, pid_t pid, struct np_process *p)
{
	const struct np_process key = { .pid = pid }, *found;

	if (!all)
		return read_process(pid, p);
	found = bsearch(&key, all->process, all->n, sizeof(key), by_pid);
	if (found)
		*p = *found;
	return found;
}
