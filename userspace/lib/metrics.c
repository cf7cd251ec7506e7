// SPDX-License-Identifier: GPL-2.0-only
#include "metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* A client has this long to say what it wants. */
#define PATIENCE_US 50000

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
	for (size_t i = 0; i < NP_VERDICTS; i++)
		fprintf(out, "numaplace_daemon_decisions_total{verdict=\"%s\"} %llu\n",
			np_verdict_name[i], c->verdicts[i]);
	counter(out, "moves_total", (double)c->moved_tasks, "Decisions carried out.");
	counter(out, "moved_bytes_total", (double)c->moved_bytes, "Memory moved between nodes.");
	counter(out, "move_seconds_total", c->move_seconds, "Time in which pages were moving.");
	counter(out, "move_failures_total", (double)c->failed,
		"Decisions that could not be carried out.");
	counter(out, "vanished_tasks_total", (double)c->vanished,
		"Tasks that exited between plan and move.");
	counter(out, "ping_pongs_total", (double)c->ping_pongs,
		"Tasks left alone because they had gone to and fro.");
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
	label(out, d->how.control->name);
	fputs("\"} 1\n", out);
	print_counters(out, &d->counts);
	gauge(out, "watched_tasks", (double)d->watch.members, "Tasks watched.");
	gauge(out, "counting_tasks", (double)d->watch.counting,
	      "Of those, busy and large enough for a plan.");
	gauge(out, "counted_tasks", (double)np_watch_count_known(&d->watch),
	      "Tasks of which something was counted that still holds.");
	counter(out, "counting_rounds_total", (double)d->counter.ended,
		"Rounds of an interval in which tasks were counted.");
	counter(out, "counting_cpu_seconds_total", d->counter.cpu_seconds,
		"CPU time of the daemon itself for those rounds.");
	gauge(out, "placed_tasks", (double)np_daemon_placed(d), "Tasks placed now.");
	if (d->all_pages)
		gauge(out, "locality_ratio", (double)d->local_pages / (double)d->all_pages,
		      "Share of the pages of counting tasks on the node that they run on, at "
		      "the last plan.");
	print_nodes(out, &d->machine);
	return fclose(out) ? NULL : text;
}

static int listen_at(struct np_metrics *x, char *err, size_t err_len)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct stat st;

	if (strlen(x->socket) >= sizeof(a.sun_path))
		return np_fail(err, err_len, -ENAMETOOLONG, "socket %s: the name is longer than "
			       "%zu bytes", x->socket, sizeof(a.sun_path) - 1);
	strcpy(a.sun_path, x->socket);
	/* What an earlier daemon left; only one runs. Nothing but a socket is removed. */
	if (!lstat(x->socket, &st) && S_ISSOCK(st.st_mode))
		unlink(x->socket);
	x->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (x->listener >= 0 && !bind(x->listener, (struct sockaddr *)&a, sizeof(a)) &&
	    !listen(x->listener, 16))
		return 0;
	return np_fail(err, err_len, -errno, "socket %s cannot be opened: %s", x->socket,
		       strerror(errno));
}

int np_metrics_open(struct np_metrics *x, const char *where, char *err, size_t err_len)
{
	int e;

	*x = (struct np_metrics) { .listener = -1 };
	if (where && !strncmp(where, "unix:", 5)) {
		x->socket = where + 5;
		e = listen_at(x, err, err_len);
		if (e)
			np_metrics_close(x);
		return e;
	}
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
	*x = (struct np_metrics) { .listener = -1 };
}

int np_metrics_write(const struct np_metrics *x, const struct np_daemon *d, char *err,
		     size_t err_len)
{
	char path[PATH_MAX], *text;
	FILE *f;
	int e = 0;

	if (!x->file)
		return 0;
	text = np_metrics_text(d);
	/* Not called .prom: the collector must not read it half-written. */
	snprintf(path, sizeof(path), "%.4000s.new", x->file);
	f = text ? fopen(path, "we") : NULL;
	if (!f || fputs(text, f) < 0)
		e = errno ? -errno : -EIO;
	if (f && fclose(f) && !e)
		e = -errno;
	if (!e && rename(path, x->file))
		e = -errno;
	free(text);
	if (e && f)
		unlink(path);
	return e ? np_fail(err, err_len, e, "%s cannot be written: %s", x->file, strerror(-e)) : 0;
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
	static const char header[] = "HTTP/1.0 200 OK\r\n"
		"Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n\r\n";
	struct timeval patience = { 0, PATIENCE_US };
	int client = accept4(x->listener, NULL, NULL, SOCK_CLOEXEC);
	char request[4096], *text;

	if (client < 0)
		return;
	setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	text = np_metrics_text(d);
	/* What it asks for is not looked at, but must be read, or closing resets the connection. */
	if (text && recv(client, request, sizeof(request), 0) > 0) {
		send_all(client, header, sizeof(header) - 1);
		send_all(client, text, strlen(text));
	}
	free(text);
	close(client);
}
