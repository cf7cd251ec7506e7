/* SPDX-License-Identifier: GPL-2.0-only */
/* Data of /proc about one process or thread. */
#ifndef NUMAPLACE_LIB_PROC_H
#define NUMAPLACE_LIB_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../base/error.h"

struct bitmask;

struct np_proc_stat {
	pid_t pid, ppid;
	char comm[16]; /* as np_printable() leaves it */
	char state;
	bool kernel_thread;	  /* PF_KTHREAD */
	bool fixed_affinity;	  /* PF_NO_SETAFFINITY */
	unsigned long long ticks; /* user and system time used, in clock ticks */
	unsigned int threads;
	unsigned long long start; /* in ticks since boot: tells a reused pid */
	int cpu;		  /* that it last ran on */
};

/* Parses a line of /proc/PID/stat. Returns 0 or -EINVAL. */
int np_proc_stat_parse(const char *line, struct np_proc_stat *out);

/* Reads /proc/PID/stat: the totals of the thread group. 0 or -errno (-ESRCH). */
int np_proc_stat(pid_t pid, struct np_proc_stat *out);

/* Reads /proc/PID/task/TID/stat: one thread's own. */
int np_proc_thread_stat(pid_t pid, pid_t tid, struct np_proc_stat *out);

/* The thread ids of a thread group. The caller frees *tids. 0 or -errno. */
int np_proc_threads(pid_t pid, pid_t **tids, size_t *n);

/* Every thread group there is. The caller frees *pids. 0 or -errno. */
int np_proc_all(pid_t **pids, size_t *n);

/*
 * The list of CPUs or nodes behind this key of /proc/PID/status. 0 or -errno (-ESRCH; -ENODATA: no
 * such key).
 */
int np_proc_status_list(pid_t pid, const char *key, struct bitmask *mask);

/* The CPUs that a thread may run on, as the kernel keeps them, offline ones included. 0 or -errno. */
int np_affinity_get(pid_t tid, struct bitmask *mask);
int np_affinity_set(pid_t tid, const struct bitmask *mask);

/* Whether it is over: a main thread that has ended stays in the list until its other threads have. */
bool np_proc_has_ended(const struct np_proc_stat *st);

/*
 * The thread through which the process's memory is seen, by files below /proc and by
 * move_pages(2): the main thread has none when it has ended. Pid itself where none is found.
 */
pid_t np_proc_memory_thread(pid_t pid);

/* The thread group that this thread belongs to, or -errno. */
pid_t np_proc_group(pid_t tid);

/*
 * Checks that pid is a running user process (or, with thread_ok, a thread of
 * one). 0 with *st filled, or -ESRCH, -EINVAL and one line in err.
 */
int np_proc_check(pid_t pid, bool thread_ok, struct np_proc_stat *st, struct np_err *err);

/* Whether this process has all of this mask, 1 << CAP_... */
bool np_proc_has_capabilities(unsigned long long needed);

/*
 * What to do about EPERM where this process has the capabilities, so that a filter of system calls is
 * the cause; else NULL.
 */
const char *np_proc_filtered(void);

/* "not permitted", with the owner of the process or that it is of another user namespace, and what to do. Returns -EPERM. */
int np_proc_denied(pid_t pid, const char *what, struct np_err *err);

/* Lets this process open as many files as the system allows it to ask for. */
void np_proc_allow_many_files(void);

/* Reads a whole small file; NULL with errno set. The caller frees it. */
char *np_read_file(const char *path);

/* The same of the file whose path this is, as in "/proc/%d/stat". */
char *np_read_file_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The kernel's name of this boot; "" if it says none. */
void np_boot_id(char *id, size_t len);

/* Bytes of "KEY N kB" in such a text; 0: no such key, or text is NULL. */
uint64_t np_proc_bytes(const char *text, const char *key);

/*
 * Keeps in tids those of the n threads of pid that did a tenth of the busiest one's work at least,
 * in st [n] what they did. Returns how many.
 */
size_t np_proc_busy_threads(pid_t pid, pid_t *tids, size_t n, struct np_proc_stat *st);

#endif
