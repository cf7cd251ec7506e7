// SPDX-License-Identifier: GPL-2.0-only
/* Work that the kernel's memory management does: rounds of one operation. */
#include "../emit.h"
#include "../pages.h"

#include <argp.h>
#include <errno.h>
#include <numaif.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct memory {
	size_t bytes, pages, page;
	enum np_page_kind kind;
	char *start;	/* of what is held all the time, where there is such */
	void **address; /* of move: each page's, the node that it goes to, and what became of it */
	int *node, *status;
	int nodes[2];
};

struct operation {
	const char *name;
	bool holds; /* touched before the first round */
	int (*round)(struct memory *m);
};

static void touch(char *start, const struct memory *m)
{
	for (size_t k = 0; k < m->pages; k++)
		start[k * m->page] = 1;
}

static int fault(struct memory *m)
{
	size_t mapped = np_pages_mapped(m->bytes, m->kind);
	char *start;
	int err = np_pages_map(&start, m->bytes, m->kind);

	if (err)
		return err;
	touch(start, m);
	return munmap(start, mapped) ? -errno : 0;
}

static int fork_one(struct memory *m)
{
	int status;
	pid_t child = fork();

	if (!child)
		_exit(0);
	if (child < 0 || waitpid(child, &status, 0) != child)
		return -errno;
	return status ? -EIO : 0;
}

/* Of two rights in turn, so that no two neighbours are one mapping. */
static int map(struct memory *m)
{
	char *start = mmap(NULL, m->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (start == MAP_FAILED)
		return -errno;
	for (size_t k = 0; k < m->pages; k += 2)
		if (mprotect(start + k * m->page, m->page, PROT_READ))
			return -errno;
	return munmap(start, m->bytes) ? -errno : 0;
}

static int move_to(struct memory *m, int node)
{
	for (size_t k = 0; k < m->pages; k++) {
		m->address[k] = m->start + k * m->page;
		m->node[k] = node;
	}
	if (move_pages(0, m->pages, m->address, m->node, m->status, MPOL_MF_MOVE) < 0)
		return -errno;
	for (size_t k = 0; k < m->pages; k++)
		if (m->status[k] != node)
			return m->status[k] < 0 ? m->status[k] : -EBUSY;
	return 0;
}

static int move(struct memory *m)
{
	int err = move_to(m, m->nodes[1]);

	return err ? err : move_to(m, m->nodes[0]);
}

static const struct operation operations[] = {
	{ "fault", false, fault }, { "fork", true, fork_one }, { "map", false, map },
	{ "move", true, move },	   { NULL, false, NULL },
};

static const char about[] =
	"Work that the kernel's memory management does. OPERATION is one of\n"
	"  fault   map memory, write to each page, unmap it\n"
	"  fork    a child that ends at once, of a process that has the memory\n"
	"  map     a mapping for each page, of two rights in turn, and unmap them\n"
	"  move    move_pages() of all pages to the next node and back";

/* clang-format off */
static const struct argp_option table[] = {
	{ "size", 's', "BYTES", 0, "of the memory, with K, M or G (4M)", 0 },
	{ "seconds", 'S', "S", 0, "of the work (0.1)", 0 },
	{ "pages", 'P', "KIND", 0, "default, small (as without) or thp", 0 },
	{ 0 },
};
/* clang-format on */

struct options {
	struct memory memory;
	double seconds;
	const struct operation *operation;
};

static int find_operation(struct options *o, const char *name)
{
	for (const struct operation *one = operations; one->name; one++)
		if (!strcmp(one->name, name)) {
			o->operation = one;
			return 0;
		}
	return np_fail("'%s' is no operation; see --help", name);
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct options *o = state->input;
	int err = 0;

	if (key == 's')
		err = np_parse_bytes(text, &o->memory.bytes) ||
				      o->memory.bytes < (size_t)getpagesize() ?
			      np_fail("--size %s: needs bytes of a page at least, as in 4M", text) :
			      0;
	else if (key == 'S')
		err = np_parse_double(text, 0.001, 86400, &o->seconds) ?
			      np_fail("--seconds %s: is not from 0.001 to 86400", text) :
			      0;
	else if (key == 'P')
		err = np_pages_kind(text, &o->memory.kind) || o->memory.kind == NP_PAGES_HUGE ?
			      np_fail("--pages %s: needs default, small or thp", text) :
			      0;
	else if (key == ARGP_KEY_ARG && !o->operation)
		err = find_operation(o, text);
	else if (key == ARGP_KEY_ARG || (key == ARGP_KEY_END && !o->operation))
		err = np_fail("needs one operation; see --help");
	else if (key != ARGP_KEY_END)
		return ARGP_ERR_UNKNOWN;
	if (err)
		exit(2);
	return 0;
}

/* The first two nodes that have memory. */
static int find_nodes(struct memory *m)
{
	unsigned int found = 0;

	for (int node = 0; node <= numa_max_node() && found < 2; node++)
		if (numa_bitmask_isbitset(numa_all_nodes_ptr, (unsigned int)node))
			m->nodes[found++] = node;
	return found == 2 ? 0 : np_fail("move: needs two nodes with memory; this machine has one");
}

static int prepare(struct options *o)
{
	struct memory *m = &o->memory;
	int err;

	m->page = (size_t)getpagesize();
	m->pages = m->bytes / m->page;
	m->address = calloc(m->pages, sizeof(*m->address));
	m->node = calloc(m->pages, sizeof(*m->node));
	m->status = calloc(m->pages, sizeof(*m->status));
	if (!m->address || !m->node || !m->status)
		return np_fail("no memory for the list of %zu pages", m->pages);
	if (o->operation->round == move && find_nodes(m))
		return -1;
	if (!o->operation->holds)
		return 0;
	err = np_pages_map(&m->start, m->bytes, m->kind);
	if (err)
		return np_fail("cannot map %zu bytes: %s", m->bytes, strerror(-err));
	touch(m->start, m);
	return 0;
}

/*
 * The mean of the rounds but the first, which finds nothing in the caches. A mean, as what takes the CPU away now and then
 * is a part of what the kernel does.
 */
static int work(struct options *o)
{
	size_t rounds = 0;
	double begin = 0, end;
	int err = o->operation->round(&o->memory);

	for (begin = end = np_now(); !err && (!rounds || end < begin + o->seconds); rounds++) {
		err = o->operation->round(&o->memory);
		end = np_now();
	}
	if (err)
		return np_fail("%s: round %zu: %s", o->operation->name, rounds, strerror(-err));
	np_emit(json_pack("{s:s, s:I, s:I, s:f}", "operation", o->operation->name, "rounds", (json_int_t)rounds,
			  "pages", (json_int_t)o->memory.pages, "round_us", 1e6 * (end - begin) / (double)rounds));
	return 0;
}

/* As the kernel and ps know it, with a name for each work: "mm-move", "mm-fault-thp". */
static void take_name(const struct options *o)
{
	char name[16];

	snprintf(name, sizeof(name), "mm-%s%s", o->operation->name,
		 o->memory.kind == NP_PAGES_THP ? "-thp" : "");
	prctl(PR_SET_NAME, name);
}

int main(int argc, char **argv)
{
	static const struct argp parser = { table, parse, "OPERATION", about, NULL, NULL, NULL };
	struct options o = { .memory = { .bytes = 4 << 20, .kind = NP_PAGES_SMALL },
			     .seconds = 0.1 };

	argp_program_version = "np-mm " NP_VERSION "; " NP_BUILT_WITH;
	argp_err_exit_status = 2;
	argp_parse(&parser, argc, argv, 0, NULL, &o);
	take_name(&o);
	return prepare(&o) || work(&o) ? 1 : 0;
}
