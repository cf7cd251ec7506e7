// SPDX-License-Identifier: GPL-2.0-only
/* The module: writes its files and reads its answers. */
#include <errno.h>
#include <numaif.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "affinity.h"
#include "control_engines.h"
#include "list.h"
#include "memory_policy.h"
#include "module.h"
#include "proc.h"
#include "record.h"

#define POLL_NS 20000000L

static int module_probe(char *err, size_t err_len)
{
	struct np_module_info info;

	return np_module_probe(&info, err, err_len);
}

/* Why the module refused to do what to pid. */
static int refused(pid_t pid, const char *what, int e, char *err, size_t err_len)
{
	const char *why;

	switch (e) {
	case -EPERM:
		return np_proc_denied(pid, what, err, err_len);
	case -ESRCH:
		return np_fail(err, err_len, e, "process %d has exited", pid);
	case -EACCES:
		why = "its cpuset does not allow these nodes";
		break;
	case -ENODEV:
		why = "the node has no memory";
		break;
	case -EINVAL:
		why = "its cpuset or the kernel allows none of these CPUs, or it is a kernel thread";
		break;
	case -EBUSY:
		why = "another job is at work on it; `numaplace jobs` lists them";
		break;
	default:
		why = strerror(-e);
	}
	return np_fail(err, err_len, e, "the module cannot %s process %d: %s", what, pid, why);
}

/* In a process of its own: takes the policy, then writes the line on its behalf. */
static int write_with_policy(const struct np_place_request *r, const char *line)
{
	const struct bitmask *nodes = r->mem_nodes;

	if (set_mempolicy(r->mem_mode, nodes ? nodes->maskp : NULL, nodes ? nodes->size + 1 : 0))
		return errno == EINVAL ? -ENOSYS : -errno;
	return np_module_write("place", line);
}

/*
 * The module installs the writer's own memory policy in the target, because
 * only the kernel's set_mempolicy() can make a valid one.
 */
static int write_place(const struct np_place_request *r, const char *line)
{
	int pipes[2], e = -EIO;
	pid_t child;

	if (r->mem_mode < 0)
		return np_module_write("place", line);
	if (pipe(pipes))
		return -errno;
	child = fork();
	if (child == 0) {
		e = write_with_policy(r, line);
		_exit(write(pipes[1], &e, sizeof(e)) != sizeof(e));
	}
	close(pipes[1]);
	if (child < 0)
		e = -errno;
	else if (read(pipes[0], &e, sizeof(e)) != sizeof(e))
		e = -EIO;
	close(pipes[0]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	return e;
}

/* A cpuset narrows the CPUs without an error; then nothing is to be changed. */
static int check_cpus(const struct np_place_request *r, char *err, size_t err_len)
{
	char want[NP_LIST_LEN], have[NP_LIST_LEN], line[64];
	struct bitmask *now;
	int e = 0;

	if (!r->cpus)
		return 0;
	now = numa_bitmask_alloc(NP_MAX_CPUS);
	if (!np_affinity_get(r->pid, now) && !numa_bitmask_equal(now, r->cpus)) {
		snprintf(line, sizeof(line), "%s=%d\n", r->one_thread ? "tid" : "pid", r->pid);
		np_module_write("restore", line);
		e = np_fail(err, err_len, -EINVAL,
			    "the cpuset of process %d allows only CPUs %s of %s; choose among those "
			    "or change its cgroup", r->pid, np_list_format(now, have, sizeof(have)),
			    np_list_format(r->cpus, want, sizeof(want)));
	}
	numa_bitmask_free(now);
	return e;
}

static int module_place(const struct np_place_request *r, char *err, size_t err_len)
{
	char line[NUMAPLACE_MAX_WRITE], cpus[NUMAPLACE_MAX_WRITE / 2], mem[NP_LIST_LEN + 32];
	struct np_proc_stat st;
	int e = np_proc_check(r->pid, r->one_thread, &st, err, err_len);

	if (e)
		return e;
	if (!r->cpus && r->mem_mode < 0)
		return np_fail(err, err_len, -EINVAL, "nothing to do for process %d", r->pid);
	if (r->cpus)
		np_list_format(r->cpus, cpus, sizeof(cpus));
	snprintf(line, sizeof(line), "pid=%d threads=%s%s%s%s inherit=%d\n", r->pid,
		 r->one_thread ? "one" : "all", r->cpus ? " cpus=" : "", r->cpus ? cpus : "",
		 r->mem_mode >= 0 ? " mem=caller" : "", r->inherit);
	e = write_place(r, line);
	if (e == -ENOSYS)
		return np_fail(err, err_len, -EOPNOTSUPP,
			       "the kernel does not take memory policy %s; it may be too old for it",
			       np_memory_policy_format(r->mem_mode, r->mem_nodes, mem, sizeof(mem)));
	if (e)
		return refused(r->pid, "place", e, err, err_len);
	return check_cpus(r, err, err_len);
}

/* The line of `jobs` that is about this job, which the caller frees, or NULL. */
static char *job_line(uint64_t id)
{
	char *text = np_module_read("jobs"), *copy = NULL;
	uint64_t job;

	for (const char *line = text; line && *line; line = np_record_next(line)) {
		if (np_record_number(line, "job", &job) && job == id) {
			copy = strndup(line, strcspn(line, "\n"));
			break;
		}
	}
	free(text);
	return copy;
}

static void parse_result(const char *line, struct np_migrate_result *out)
{
	np_record_number(line, "asked", &out->asked);
#define X(name) np_record_number(line, #name, &out->name);
	NUMAPLACE_COUNTS(X)
#undef X
	np_record_number(line, "bytes", &out->bytes);
	np_record_number(line, "ns", &out->ns);
	np_record_number(line, "longest_pause_us", &out->longest_pause_us);
}

/* Follows the job to its end. A cancelled one still has to come to its end. */
static int follow(const struct np_migrate_request *r, uint64_t id, struct np_migrate_result *out,
		  char *err, size_t err_len)
{
	const struct timespec nap = { 0, POLL_NS };
	char state[16] = "", cancel[32], why[64] = "no reason given";
	bool cancelled = false;
	char *line;

	for (;;) {
		line = job_line(id);
		if (!line)
			return np_fail(err, err_len, -EIO, "job %llu is no longer listed; was the "
				       "module unloaded?", (unsigned long long)id);
		np_record_get(line, "state", state, sizeof(state));
		np_record_get(line, "error", why, sizeof(why));
		parse_result(line, out);
		free(line);
		if (strcmp(state, "queued") && strcmp(state, "running"))
			break;
		if (r->progress && !cancelled && !r->progress(out, r->progress_arg)) {
			cancelled = true;
			snprintf(cancel, sizeof(cancel), "job=%llu\n", (unsigned long long)id);
			np_module_write("cancel", cancel);
		}
		nanosleep(&nap, NULL);
	}
	if (!strcmp(state, "done"))
		return 0;
	if (!strcmp(state, "cancelled"))
		return np_fail(err, err_len, -ECANCELED, "job %llu was cancelled",
			       (unsigned long long)id);
	return np_fail(err, err_len, -EIO, "job %llu, pages of process %d, failed: %s",
		       (unsigned long long)id, r->pid, why);
}

static void migrate_line(const struct np_migrate_request *r, char *line, size_t len)
{
	char from[NP_LIST_LEN] = "any";
	int n;

	if (r->from)
		np_list_format(r->from, from, sizeof(from));
	n = snprintf(line, len, "pid=%d from=%s to=%d", r->pid, from, r->to);
	if (r->start || r->end)
		n += snprintf(line + n, len - (size_t)n, " start=0x%llx end=0x%llx",
			      (unsigned long long)r->start, (unsigned long long)r->end);
	if (r->max_stall_us)
		n += snprintf(line + n, len - (size_t)n, " max_stall_us=%u", r->max_stall_us);
	if (r->rate_mib)
		n += snprintf(line + n, len - (size_t)n, " rate_mib=%u", r->rate_mib);
	snprintf(line + n, len - (size_t)n, "\n");
}

static int module_migrate(const struct np_migrate_request *r, struct np_migrate_result *out,
			  char *err, size_t err_len)
{
	char line[NP_LIST_LEN + 256], answer[64];
	struct np_proc_stat st;
	int fd, e = np_proc_check(r->pid, false, &st, err, err_len);
	uint64_t id;
	ssize_t n;

	memset(out, 0, sizeof(*out));
	out->engine = "module";
	if (e)
		return e;
	migrate_line(r, line, sizeof(line));
	fd = np_module_open("migrate");
	if (fd < 0)
		return refused(r->pid, "move the pages of", fd, err, err_len);
	if (write(fd, line, strlen(line)) < 0) {
		e = -errno;
		close(fd);
		return refused(r->pid, "move the pages of", e, err, err_len);
	}
	n = pread(fd, answer, sizeof(answer) - 1, 0);
	close(fd);
	answer[n < 0 ? 0 : n] = '\0';
	if (!np_record_number(answer, "job", &id))
		return np_fail(err, err_len, -EPROTO, "the module did not say which job moves the "
			       "pages of process %d", r->pid);
	return follow(r, id, out, err, err_len);
}

/* True when the thread's CPUs are no longer those that the module gave it. */
static bool changed_since(const char *line, pid_t tid)
{
	struct bitmask *now = numa_bitmask_alloc(NP_MAX_CPUS), *set = numa_bitmask_alloc(NP_MAX_CPUS);
	char cpus[NUMAPLACE_MAX_WRITE];
	bool changed = np_record_get(line, "cpus", cpus, sizeof(cpus)) &&
		       !np_list_parse_kernel(cpus, set) && numa_bitmask_weight(set) &&
		       !np_affinity_get(tid, now) && !numa_bitmask_equal(now, set);

	numa_bitmask_free(now);
	numa_bitmask_free(set);
	return changed;
}

static int module_restore(pid_t pid, size_t *n, size_t *kept, char *err, size_t err_len)
{
	char *text = np_module_read("placements"), line[32];
	uint64_t tid, group;
	bool thread = false;
	int e;

	*n = *kept = 0;
	for (const char *p = text; p && *p; p = np_record_next(p)) {
		if (!np_record_number(p, "tid", &tid) || !np_record_number(p, "pid", &group) ||
		    (pid && (pid_t)group != pid && (pid_t)tid != pid))
			continue;
		thread = pid && (pid_t)group != pid;
		++*(changed_since(p, (pid_t)tid) ? kept : n);
	}
	free(text);
	if (*n + *kept == 0)
		return pid ? np_fail(err, err_len, -ENOENT, "process %d is not under control; there "
				     "is nothing to restore", pid) : 0;
	if (pid)
		snprintf(line, sizeof(line), "%s=%d\n", thread ? "tid" : "pid", pid);
	else
		snprintf(line, sizeof(line), "all\n");
	e = np_module_write("restore", line);
	if (e)
		return refused(pid, "restore", e, err, err_len);
	if (*kept)
		np_fail(err, err_len, 0, "%zu thread%s left alone: the CPUs were changed after "
			"numaplace had set them", *kept, *kept == 1 ? "" : "s");
	return 0;
}

const struct np_control np_control_module = {
	.name = "module",
	.probe = module_probe,
	.place = module_place,
	.migrate = module_migrate,
	.restore = module_restore,
};
