// SPDX-License-Identifier: GPL-2.0-only
/*
 * np-move METHOD MIB FROM TO THREADS [OPTIONS [KIND [MAPPERS]]]
 *
 * Moves MIB of 4 KiB pages of a fresh process from node FROM to node TO and
 * prints one JSON object. THREADS threads of the process write to the memory
 * meanwhile; with 0 it sleeps. OPTIONS, of the module alone: "threads=N max_stall_us=N". The memory
 * is of KIND (private, memfd, file), which MAPPERS children map as well.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "methods.h"
#include "target.h"

#define BASELINE_NS \
	100000000L /* without a move, to see what gaps there are anyhow and what is written */

/* Interrupts to flush TLBs, of all CPUs since the start. */
static uint64_t shootdowns(void)
{
	FILE *file = fopen("/proc/interrupts", "r");
	char line[4096], *at, *next;
	uint64_t sum = 0;

	while (file && fgets(line, sizeof(line), file)) {
		at = line + strspn(line, " ");
		if (strncmp(at, "TLB:", 4))
			continue;
		for (at += 4;; at = next) {
			sum += strtoull(at, &next, 10);
			if (next == at)
				break;
		}
	}
	if (file)
		fclose(file);
	return sum;
}

static const struct method *find_method(const char *name)
{
	const struct method *m = methods;

	while (m->name && strcmp(m->name, name))
		m++;
	return m->name ? m : NULL;
}

/* Writes of the target in a time, and the longest gap of one of its threads. */
struct progress {
	uint64_t ns, writes, gap;
};

static void progress_begin(struct target *t, struct progress *p)
{
	target_reset_gap(t);
	p->writes = target_writes(t);
	p->ns = now_ns();
}

static void progress_end(const struct target *t, struct progress *p)
{
	p->ns = now_ns() - p->ns;
	p->writes = target_writes(t) - p->writes;
	p->gap = target_gap(t);
}

static void watch_undisturbed(struct target *t, struct progress *p)
{
	const struct timespec length = { 0, BASELINE_NS };

	if (!t->threads)
		return;
	progress_begin(t, p);
	nanosleep(&length, NULL);
	progress_end(t, p);
}

static void print_progress(const char *name, const struct progress *p)
{
	printf(" \"%sgap_ns\": %llu, \"%swrites\": %llu, \"%swrites_ns\": %llu,", name,
	       (unsigned long long)p->gap, name, (unsigned long long)p->writes, name,
	       (unsigned long long)p->ns);
}

static int observe(const struct method *m, struct target *t, int to, const struct options *o)
{
	struct progress before = { 0 }, during = { 0 };
	struct moved moved = { 0 };
	uint64_t flushes;
	long there;
	int e;

	watch_undisturbed(t, &before);
	flushes = shootdowns();
	progress_begin(t, &during);
	e = m->move(t, to, o, &moved);
	progress_end(t, &during);
	flushes = shootdowns() - flushes;
	if (e)
		return e;
	there = pages_on(t, to);
	if (there < 0)
		return (int)there;
	printf("{\"method\": \"%s\", \"threads\": %u, \"options\": \"%s\", \"pages\": %zu, \"moved\": %ld,"
	       " \"ns\": %llu, \"own_ns\": %llu, \"shootdowns\": %llu, \"longest_unmapped_us\": %llu,",
	       m->name, t->threads, o->text, t->pages, there, (unsigned long long)moved.ns,
	       (unsigned long long)moved.own_ns, (unsigned long long)flushes,
	       (unsigned long long)moved.longest_unmapped_us);
	print_progress("", &during);
	print_progress("baseline_", &before);
	printf(" \"whole\": %s}\n", target_is_whole(t) ? "true" : "false");
	return 0;
}

int main(int argc, char **argv)
{
	const struct method *m = argc > 5 ? find_method(argv[1]) : NULL;
	struct target t = { 0 };
	struct options o;
	int to, e;

	if (!m || argc > 9 || (t.threads = (unsigned int)atoi(argv[5])) > MAX_THREADS ||
	    parse_options(argc > 6 ? argv[6] : "", &o) || (*o.text && m != methods) ||
	    (argc > 7 && target_kind(argv[7], &t.kind))) {
		fputs("usage: np-move module|move_pages|engine|migrate_pages MIB FROM TO THREADS"
		      " [OPTIONS [private|memfd|file [MAPPERS]]]\n",
		      stderr);
		return 2;
	}
	t.pages = strtoul(argv[2], NULL, 10) * 256;
	t.node = atoi(argv[3]);
	to = atoi(argv[4]);
	t.mappers = argc > 8 ? (unsigned int)atoi(argv[8]) : 0;
	e = target_start(&t);
	if (!e)
		e = run_on_node(to);
	if (e)
		fprintf(stderr, "np-move: no target of %zu pages on node %d: %s\n", t.pages, t.node,
			strerror(-e));
	else
		e = observe(m, &t, to, &o);
	if (t.pid > 0)
		target_stop(&t);
	return e ? 1 : 0;
}
