// SPDX-License-Identifier: GPL-2.0-only
#include "proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <numaif.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/cpulist.h"
#include "../base/error.h"
#include "../base/grow.h"
#include "../base/printable.h"

/* A thread counts for what its task does when it did this share of the busiest one's work. */
#define BUSY_SHARE 10

/* Bits of the flags field of /proc/PID/stat, the same in every supported kernel. */
#define FLAG_KTHREAD	    0x00200000ul
#define FLAG_NO_SETAFFINITY 0x04000000ul

/* Inode of the user namespace that the kernel starts with. */
#define FIRST_USER_NAMESPACE 0xeffffffdu

char *np_read_file(const char *path)
{
	size_t used = 0, size = 4096;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *buf;
	ssize_t n;

	if (fd < 0)
		return NULL;
	buf = malloc(size);
	while (buf && (n = read(fd, buf + used, size - used - 1)) != 0) {
		if (n < 0) {
			int saved = errno;

			free(buf);
			close(fd);
			errno = saved;
			return NULL;
		}
		used += (size_t)n;
		if (size - used < 2) {
			char *bigger = realloc(buf, size *= 2);

			if (!bigger)
				free(buf);
			buf = bigger;
		}
	}
	close(fd);
	if (buf)
		buf[used] = '\0';
	else
		errno = ENOMEM;
	return buf;
}

char *np_read_file_of(const char *format, ...)
{
	char *path, *text;
	va_list ap;
	int len;

	va_start(ap, format);
	len = vasprintf(&path, format, ap);
	va_end(ap);
	if (len < 0)
		return NULL;
	text = np_read_file(path);
	free(path);
	return text;
}

void np_boot_id(char *id, size_t len)
{
	char *text = np_read_file("/proc/sys/kernel/random/boot_id");

	snprintf(id, len, "%.*s", text ? (int)strcspn(text, "\n") : 0, text ? text : "");
	free(text);
}

uint64_t np_proc_bytes(const char *text, const char *key)
{
	const char *at = text ? strstr(text, key) : NULL;

	return at ? (uint64_t)strtoull(at + strlen(key), NULL, 10) * 1024 : 0;
}

int np_proc_stat_parse(const char *line, struct np_proc_stat *out)
{
	const char *open = strchr(line, '('), *close = strrchr(line, ')');
	unsigned long long user, system;
	unsigned long flags;
	long threads;
	size_t len;

	memset(out, 0, sizeof(*out));
	if (!open || !close || close < open || sscanf(line, "%d", &out->pid) != 1)
		return -EINVAL;
	len = (size_t)(close - open - 1);
	if (len >= sizeof(out->comm))
		len = sizeof(out->comm) - 1;
	memcpy(out->comm, open + 1, len);
	np_printable(out->comm);
	/* Fields 3 to 39 of proc(5). */
	if (sscanf(close + 1,
		   " %c %d %*d %*d %*d %*d %lu %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %ld"
		   " %*d %llu %*u %*d %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d %d",
		   &out->state, &out->ppid, &flags, &user, &system, &threads, &out->start,
		   &out->cpu) != 8)
		return -EINVAL;
	out->kernel_thread = flags & FLAG_KTHREAD;
	out->fixed_affinity = flags & FLAG_NO_SETAFFINITY;
	out->ticks = user + system;
	out->threads = threads < 1 ? 1 : (unsigned int)threads;
	return 0;
}

/* Of what is in a stat file, which is freed; NULL: it could not be read. */
static int parse_stat(char *text, struct np_proc_stat *out)
{
	int r;

	*out = (struct np_proc_stat) { 0 };
	if (!text)
		return errno == ENOENT ? -ESRCH : -errno;
	r = np_proc_stat_parse(text, out);
	free(text);
	return r;
}

int np_proc_stat(pid_t pid, struct np_proc_stat *out)
{
	return parse_stat(np_read_file_of("/proc/%d/stat", pid), out);
}

int np_proc_thread_stat(pid_t pid, pid_t tid, struct np_proc_stat *out)
{
	return parse_stat(np_read_file_of("/proc/%d/task/%d/stat", pid, tid), out);
}

/* The names in a folder that are numbers. */
static int list_numbers(const char *path, pid_t **out, size_t *n)
{
	DIR *dir = opendir(path);
	struct dirent *e;

	*out = NULL;
	*n = 0;
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while ((e = readdir(dir))) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		if (np_grow(out, *n, sizeof(**out))) {
			free(*out);
			closedir(dir);
			return -ENOMEM;
		}
		(*out)[(*n)++] = (pid_t)atoi(e->d_name);
	}
	closedir(dir);
	return 0;
}

int np_proc_threads(pid_t pid, pid_t **tids, size_t *n)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	return list_numbers(path, tids, n);
}

bool np_proc_has_ended(const struct np_proc_stat *st)
{
	return st->state == 'X' || (st->state == 'Z' && st->threads < 2);
}

pid_t np_proc_memory_thread(pid_t pid)
{
	struct np_proc_stat st;
	pid_t found = pid, *tids;
	size_t n;

	if (np_proc_stat(pid, &st) || st.state != 'Z' || st.threads < 2 ||
	    np_proc_threads(pid, &tids, &n))
		return pid;
	for (size_t i = 0; found == pid && i < n; i++)
		if (!np_proc_thread_stat(pid, tids[i], &st) && st.state != 'Z' && st.state != 'X')
			found = tids[i];
	free(tids);
	return found;
}

int np_proc_all(pid_t **pids, size_t *n)
{
	return list_numbers("/proc", pids, n);
}

int np_proc_status_list(pid_t pid, const char *key, struct bitmask *mask)
{
	char start[64], *text = np_read_file_of("/proc/%d/status", pid), *line;
	int e = -ENODATA;

	snprintf(start, sizeof(start), "\n%s:", key);
	if (!text)
		return errno == ENOENT ? -ESRCH : -errno;
	line = strstr(text, start);
	if (line) {
		line += strlen(start);
		line[strcspn(line, "\n")] = '\0';
		e = np_list_parse_kernel(line, mask);
	}
	free(text);
	return e;
}

int np_affinity_get(pid_t tid, struct bitmask *mask)
{
	return np_proc_status_list(tid, "Cpus_allowed_list", mask);
}

int np_affinity_set(pid_t tid, const struct bitmask *mask)
{
	return numa_sched_setaffinity(tid, (struct bitmask *)mask) < 0 ? -errno : 0;
}

pid_t np_proc_group(pid_t tid)
{
	char *text = np_read_file_of("/proc/%d/status", tid), *line;
	pid_t group = -EINVAL;

	if (!text)
		return errno == ENOENT ? -ESRCH : -errno;
	line = strstr(text, "\nTgid:");
	if (line)
		group = (pid_t)atoi(line + strlen("\nTgid:"));
	free(text);
	return group;
}

int np_proc_check(pid_t pid, bool thread_ok, struct np_proc_stat *st, struct np_err *err)
{
	pid_t group = np_proc_group(pid);

	if (pid <= 0 || group == -ESRCH || np_proc_stat(pid, st) == -ESRCH)
		return np_fail(err, -ESRCH, "no process %d; `numaplace ps` lists those there are",
			       pid);
	if (group < 0)
		return np_fail(err, group, "process %d cannot be read: %s", pid, strerror(-group));
	if (st->kernel_thread)
		return np_fail(err, -EINVAL,
			       "%d (%s) is a kernel thread; only user processes can be placed", pid,
			       st->comm);
	if (np_proc_has_ended(st))
		return np_fail(err, -ESRCH, "process %d (%s) has already exited", pid, st->comm);
	if (group != pid && !thread_ok)
		return np_fail(err, -EINVAL, "%d is a thread of process %d; name the process", pid,
			       group);
	return 0;
}

bool np_proc_has_capabilities(unsigned long long needed)
{
	static const char key[] = "\nCapEff:";
	char *text = np_read_file("/proc/self/status"), *line = text ? strstr(text, key) : NULL;
	unsigned long long effective = line ? strtoull(line + strlen(key), NULL, 16) : 0;

	free(text);
	return (effective & needed) == needed;
}

const char *np_proc_filtered(void)
{
	/* The kernel itself refuses to nobody to ask for the own policy. */
	if (!get_mempolicy(NULL, NULL, 0, NULL, 0) || errno != EPERM || geteuid() ||
	    !np_proc_has_capabilities(1ull << CAP_SYS_NICE | 1ull << CAP_SYS_PTRACE))
		return NULL;
	return "a filter of system calls (seccomp) refuses that, such as a container's; start the "
	       "container with `--cap-add SYS_NICE` or with a profile that allows it";
}

/*
 * Whether root is refused because it is root of another user namespace only: also where that
 * cannot be read. The first namespace's root has every process.
 */
static bool is_of_others(pid_t pid)
{
	struct stat own, its;
	char path[64];

	if (geteuid() || stat("/proc/self/ns/user", &own))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	return stat(path, &its) ? own.st_ino != FIRST_USER_NAMESPACE : own.st_ino != its.st_ino;
}

int np_proc_denied(pid_t pid, const char *what, struct np_err *err)
{
	char path[64];
	struct stat st;
	struct passwd *owner;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (stat(path, &st))
		return np_fail(err, -ESRCH, "process %d has just exited", pid);
	if (np_proc_filtered())
		return np_fail(err, -EPERM, "not permitted to %s process %d: %s", what, pid,
			       np_proc_filtered());
	if (is_of_others(pid))
		return np_fail(err, -EPERM,
			       "not permitted to %s process %d of another user namespace; run as "
			       "root of that namespace or of the host",
			       what, pid);
	owner = getpwuid(st.st_uid);
	return np_fail(err, -EPERM,
		       "not permitted to %s process %d of user %s; run as that user or as root "
		       "(capabilities CAP_SYS_NICE and CAP_SYS_PTRACE)",
		       what, pid, owner ? owner->pw_name : "unknown");
}

void np_proc_allow_many_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

size_t np_proc_busy_threads(pid_t pid, pid_t *tids, size_t n, struct np_proc_stat *st)
{
	unsigned long long busiest = 0;
	size_t there = 0, busy = 0;

	for (size_t i = 0; i < n; i++) {
		if (np_proc_thread_stat(pid, tids[i], &st[there]))
			continue;
		busiest = st[there].ticks > busiest ? st[there].ticks : busiest;
		tids[there++] = tids[i];
	}
	for (size_t i = 0; i < there; i++) {
		if (st[i].ticks * BUSY_SHARE < busiest)
			continue;
		tids[busy] = tids[i];
		st[busy++] = st[i];
	}
	return busy;
}
