// SPDX-License-Identifier: GPL-2.0-only
#include "metrics.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../base/replace_file.h"

/* Longest wait for the request of a client. */
#define TIMEOUT_US 50000

static void head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP numaplace_daemon_%s %s\n# TYPE numaplace_daemon_%s %s\n", name, help,
		name, type);
}

static void counter(FILE *out, const char *name, double value, const char *help)
{
	head(out, name, "counter", help);
	fprintf(out, "numaplace_daemon_%s %.15g\n", name, value);
}

static void gauge(FILE *out, const char *name, double value, const char *help)
{
	head(out, name, "gauge", help);
	fprintf(out, "numaplace_daemon_%s %.15g\n", name, value);
}

/* A label's value: backslash, quote and newline are escaped. */
static void label(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\n') {
			fputs("\\n", out);
			continue;
		}
		if (*text == '\\' || *text == '"')
			fputc('\\', out);
		fputc(*text, out);
	}
}

static void print_counters(FILE *out, const struct np_daemon_counts *c)
{
	counter(out, "intervals_total", (double)c->intervals, "Intervals since the start.");
	counter(out, "plans_total", (double)c->plans, "Plans made; none while nothing changes.");
	counter(out, "planning_failures_total", (double)c->planning_failed,
		"Intervals without a plan because the machine or the policy failed.");
	head(out, "decisions_total", "counter",
	     "Decisions that ask for something, by what became of them.");
	for (size_t i = 0; i < NP_HYSTERESIS_RESULTS; i++)
		fprintf(out, "numaplace_daemon_decisions_total{verdict=\"%s\"} %llu\n",
			np_hysteresis_name[i], c->decisions[i]);
	counter(out, "moves_total", (double)c->moved_tasks, "Decisions carried out.");
	counter(out, "moved_bytes_total", (double)c->moved_bytes, "Memory moved between nodes.");
	counter(out, "move_seconds_total", c->move_seconds, "Time in which pages were moving.");
	counter(out, "move_failures_total", (double)c->failed,
		"Decisions that could not be carried out.");
	counter(out, "vanished_tasks_total", (double)c->vanished,
		"Tasks that exited between plan and move.");
	counter(out, "ping_pongs_total", (double)c->ping_pongs,
		"Tasks left alone after a ping-pong between nodes.");
	head(out, "trials_total", "counter", "Plans that were verified, by what became of them.");
	fprintf(out, "numaplace_daemon_trials_total{result=\"kept\"} %llu\n", c->trials[0]);
	fprintf(out, "numaplace_daemon_trials_total{result=\"taken_back\"} %llu\n", c->trials[1]);
	counter(out, "cpu_seconds_total", c->cpu_seconds, "CPU time of the daemon itself.");
	gauge(out, "last_interval_cpu_seconds", c->last_interval_cpu_seconds,
	      "CPU time of the daemon itself in the last interval.");
}

static void print_nodes(FILE *out, const struct np_machine *m)
{
	head(out, "node_free_bytes", "gauge", "Memory of the node that a move may fill.");
	for (size_t i = 0; i < m->n_nodes; i++)
		fprintf(out, "numaplace_daemon_node_free_bytes{node=\"%d\"} %llu\n", m->node[i].id,
			(unsigned long long)m->node[i].mem_free);
}

static void print_tasks(FILE *out, const struct np_daemon *d)
{
	gauge(out, "watched_tasks", (double)d->watch.n_watched, "Tasks watched.");
	gauge(out, "eligible_tasks", (double)d->watch.eligible,
	      "Of those, busy and large enough for a plan.");
	gauge(out, "sampled_tasks", (double)np_task_sampling_known(&d->watch),
	      "Tasks with a valid sample of the counters.");
	counter(out, "sampling_rounds_total", (double)d->sampling.ended,
		"Intervals in which tasks were sampled.");
	counter(out, "sampling_cpu_seconds_total", d->sampling.cpu_seconds,
		"CPU time of the daemon itself for those intervals.");
	gauge(out, "placed_tasks", (double)np_daemon_placed(d), "Tasks placed now.");
}

/* Names of the release before, exported for one release more. */
static void print_aliases(FILE *out, const struct np_daemon *d)
{
	gauge(out, "counting_tasks", (double)d->watch.eligible, "Deprecated: use eligible_tasks.");
	gauge(out, "counted_tasks", (double)np_task_sampling_known(&d->watch),
	      "Deprecated: use sampled_tasks.");
	counter(out, "counting_rounds_total", (double)d->sampling.ended,
		"Deprecated: use sampling_rounds_total.");
	counter(out, "counting_cpu_seconds_total", d->sampling.cpu_seconds,
		"Deprecated: use sampling_cpu_seconds_total.");
}

char *np_metrics_text(const struct np_daemon *d)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	head(out, "info", "gauge", "Policy and engine in use.");
	fputs("numaplace_daemon_info{policy=\"", out);
	label(out, d->args.policy->name);
	fputs("\",engine=\"", out);
	label(out, d->how.engine->name);
	fputs("\"} 1\n", out);
	print_counters(out, &d->counts);
	print_tasks(out, d);
	if (d->all_pages)
		gauge(out, "locality_ratio", (double)d->local_pages / (double)d->all_pages,
		      "Share of the pages of eligible tasks on the node that they run on, at "
		      "the last plan.");
	print_nodes(out, &d->machine);
	print_aliases(out, d);
	return fclose(out) ? NULL : text;
}

static int wrong_word(const char *word, const char *why, struct np_err *err)
{
	return np_fail(err, -EINVAL, "metrics socket: \"%s\" %s", word, why);
}

/* "unix:PATH,mode=0660,group=NAME" */
static int read_words(struct np_metrics *x, const char *where, struct np_err *err)
{
	char *rest, *word, *end;

	x->mode = 0600;
	x->group = (gid_t)-1;
	x->socket = rest = strdup(where);
	if (!rest)
		return np_fail(err, -ENOMEM, "out of memory");
	for (strsep(&rest, ","); (word = strsep(&rest, ","));) {
		struct group *group = strncmp(word, "group=", 6) ? NULL : getgrnam(word + 6);

		if (group) {
			x->group = group->gr_gid;
		} else if (!strncmp(word, "mode=", 5)) {
			x->mode = (mode_t)strtoul(word + 5, &end, 8);
			if (!word[5] || *end || x->mode > 0777)
				return wrong_word(word, "is no mode such as 0660", err);
		} else {
			return wrong_word(word,
					  strncmp(word, "group=", 6) ?
						  "is neither mode=OCTAL nor group=NAME" :
						  "names no group of this system",
					  err);
		}
	}
	return 0;
}

/* Created with its mode: the folder may belong to another user, and a link could be put there. */
static int bind_with_mode(const struct np_metrics *x, const struct sockaddr_un *a)
{
	mode_t before = umask(0);
	int e = 0;

	if (fchmod(x->listener, x->mode) ||
	    bind(x->listener, (const struct sockaddr *)a, sizeof(*a)))
		e = -errno;
	umask(before);
	if (!e && x->group != (gid_t)-1 && lchown(a->sun_path, (uid_t)-1, x->group))
		e = -errno;
	return e;
}

static int listen_at(struct np_metrics *x, struct np_err *err)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct stat st;
	int e;

	if (strlen(x->socket) >= sizeof(a.sun_path))
		return np_fail(err, -ENAMETOOLONG, "socket %s: the name is longer than %zu bytes",
			       x->socket, sizeof(a.sun_path) - 1);
	strcpy(a.sun_path, x->socket);
	/* The socket of an earlier daemon; only one runs. Nothing but a socket is removed. */
	if (!lstat(x->socket, &st) && S_ISSOCK(st.st_mode))
		unlink(x->socket);
	x->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	e = x->listener < 0 ? -errno : bind_with_mode(x, &a);
	if (!e && listen(x->listener, 16))
		e = -errno;
	if (!e)
		return 0;
	if (x->listener >= 0)
		close(x->listener);
	x->listener = -1; /* the file at its path is another's, not to be removed */
	return np_fail(err, e, "socket %s cannot be opened: %s", x->socket, strerror(-e));
}

static int fail_to_write(const char *file, int e, struct np_err *err)
{
	return np_fail(err, e, "metrics: %s cannot be written: %s", file, strerror(-e));
}

int np_metrics_open(struct np_metrics *x, const char *where, struct np_err *err)
{
	struct np_fresh fresh;
	int e;

	*x = (struct np_metrics) { .listener = -1 };
	if (!where)
		return 0;
	if (!strncmp(where, "unix:", 5)) {
		e = read_words(x, where + 5, err);
		if (!e)
			e = listen_at(x, err);
		if (e)
			np_metrics_close(x);
		return e;
	}
	e = np_fresh_open(&fresh, where);
	if (e)
		return fail_to_write(where, e, err);
	np_fresh_drop(&fresh);
	x->file = where;
	return 0;
}

void np_metrics_close(struct np_metrics *x)
{
	if (x->listener >= 0) {
		close(x->listener);
		unlink(x->socket);
	}
	/* An old figure is worse than none. */
	if (x->file)
		unlink(x->file);
	free(x->socket);
	*x = (struct np_metrics) { .listener = -1 };
}

int np_metrics_write(struct np_metrics *x, const struct np_daemon *d, struct np_err *err)
{
	bool failed = x->failed;
	struct np_fresh fresh;
	char *text;
	int e;

	if (!x->file)
		return 0;
	text = np_metrics_text(d);
	/* Not called .prom meanwhile: the collector must not read it half-written. */
	e = text ? np_fresh_open(&fresh, x->file) : -ENOMEM;
	if (!e) {
		fputs(text, fresh.f);
		e = np_fresh_keep(&fresh, x->file, false);
	}
	free(text);
	x->failed = e != 0;
	return e && !failed ? fail_to_write(x->file, e, err) : 0;
}

static void send_all(int client, const char *text, size_t len)
{
	while (len) {
		ssize_t n = send(client, text, len, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		text += n;
		len -= (size_t)n;
	}
}

void np_metrics_answer(const struct np_metrics *x, const struct np_daemon *d)
{
	static const char header[] =
		"HTTP/1.0 200 OK\r\n"
		"Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n\r\n";
	struct timeval timeout = { 0, TIMEOUT_US };
	int client = accept4(x->listener, NULL, NULL, SOCK_CLOEXEC);
	char request[4096], *text;

	if (client < 0)
		return;
	setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	text = np_metrics_text(d);
	/* The request is not parsed, but must be read, or closing resets the connection. */
	if (text && recv(client, request, sizeof(request), 0) > 0) {
		send_all(client, header, sizeof(header) - 1);
		send_all(client, text, strlen(text));
	}
	free(text);
	close(client);
}
