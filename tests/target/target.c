// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program to be acted upon: has pages of one kind on one node, knows what
 * must be in them, and does as it is told on its standard input.
 *
 *	target KIND PAGES NODE [THREADS]
 *
 * It answers "ready ADDRESS LENGTH" and then, line by line, with one line; "ok"
 * where nothing else is said. FIRST and COUNT are pages of the memory.
 *	check [FIRST COUNT]	or "bad PAGE" for the first page with wrong contents
 *	where		"N:PAGES .." by node, "absent:PAGES" for those not there
 *	fill FIRST COUNT	writes the contents anew
 *	touch FIRST COUNT	writes to the pages, but not to their contents
 *	advise ADVICE FIRST COUNT	madvise(2); the numbers of the errors instead of ok
 *	protect PROT FIRST COUNT	mprotect(2)
 *	lock FLAGS FIRST COUNT	mlock2(2)
 *	sync		writes a file's pages to its disk
 *	policy		"MODE NODES": the memory policy of the main thread
 *	thread-policy I	the same of thread I
 *	fresh PAGES	touches so many new pages and answers as for where
 *	churn TIMES	maps, touches, protects, moves and unmaps memory
 *	disturb HOW TIMES	does something to half of the pages: see disturb.c
 *	fork		starts a child that sleeps; answers its number
 *	tree DEPTH WIDTH	starts a tree of processes that sleep
 *	thread		starts a thread that sleeps; answers its number
 *	allocate	starts a thread that maps, touches and unmaps pages; answers its number
 *	rounds		how often that thread has done so
 *	set-policy M N	gives itself memory policy M with the nodes N (0x..)
 *	readers N	starts threads that look at the contents all the time
 *	reader-processes N	the same as processes
 *	read		"ok ROUNDS" if every reader has gone on and seen no wrong contents
 *	watch missing|wp	a userfaultfd answers such faults
 *	faults		how many it has answered
 *	ring HOW	uses an io_uring: see uring.c
 *	measure		starts a thread that measures how long it does not run
 *	longest		the longest of these times since it was asked last, in microseconds
 *	nap		starts a thread that sleeps for short times
 *	naps		how often it did, and how often it was cut short
 *	handle N	counts the signals N
 *	signals		how many came
 *	vfork TIMES	starts children by vfork(2) that look at the contents
 *	counters	"ok" if the threads' counters never went back
 *	halt		"ok SUM" if all counts that the threads made are there; stops them
 *	exec		executes itself anew, with the same arguments
 * With THREADS, so many threads add to counters in the pages all the time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <numaif.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "target.h"

char *memory;
size_t page_size, n_pages, n_words;
static char **own_argv;

void die(const char *what)
{
	fprintf(stderr, "target: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void where(char *start, size_t n)
{
	void **address = calloc(n, sizeof(*address));
	int *status = calloc(n, sizeof(*status));
	unsigned int node[64] = { 0 }, absent = 0;

	for (size_t i = 0; i < n; i++)
		address[i] = start + i * page_size;
	if (move_pages(0, n, address, NULL, status, 0))
		die("move_pages");
	for (size_t i = 0; i < n; i++) {
		if (status[i] >= 0)
			node[status[i]]++;
		else
			absent++;
	}
	for (size_t i = 0; i < 64; i++)
		if (node[i])
			printf("%zu:%u ", i, node[i]);
	printf("absent:%u\n", absent);
	free(address);
	free(status);
}

static void say_ok(int failed)
{
	if (failed)
		printf("%d\n", errno);
	else
		puts("ok");
}

/* What stands after the command: a word, numbers, or both. */
struct arguments {
	char *word;
	unsigned long n[3];
};

static void do_check(const struct arguments *a)
{
	size_t n = a->n[1] ? a->n[1] : n_pages, wrong = wrong_page(a->n[0], n);

	if (wrong == a->n[0] + n)
		puts("ok");
	else
		printf("bad %zu\n", wrong);
}

static void do_where(const struct arguments *a)
{
	(void)a;
	where(memory, n_pages);
}

static void do_fill(const struct arguments *a)
{
	fill_pages(a->n[0], a->n[1]);
	puts("ok");
}

static void do_touch(const struct arguments *a)
{
	for (size_t p = a->n[0]; p < a->n[0] + a->n[1]; p++)
		++*(volatile uint64_t *)(memory + p * page_size);
	puts("ok");
}

static void do_advise(const struct arguments *a)
{
	say_ok(madvise(memory + a->n[1] * page_size, a->n[2] * page_size, a->n[0]));
}

static void do_protect(const struct arguments *a)
{
	say_ok(mprotect(memory + a->n[1] * page_size, a->n[2] * page_size, a->n[0]));
}

static void do_lock(const struct arguments *a)
{
	say_ok(mlock2(memory + a->n[1] * page_size, a->n[2] * page_size, a->n[0]));
}

static void do_sync(const struct arguments *a)
{
	(void)a;
	sync_memory();
}

static void do_unbind(const struct arguments *a)
{
	(void)a;
	unbind();
	puts("ok");
}

static void do_policy(const struct arguments *a)
{
	unsigned long nodes;
	int mode;

	(void)a;
	own_policy(&mode, &nodes);
	say_policy(mode, nodes);
}

static void do_thread_policy(const struct arguments *a)
{
	say_thread_policy(a->n[0]);
}

static void do_fresh(const struct arguments *a)
{
	char *start = map_aligned(a->n[0] * page_size, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	madvise(start, a->n[0] * page_size, MADV_NOHUGEPAGE);
	memset(start, 1, a->n[0] * page_size);
	where(start, a->n[0]);
}

static void do_churn(const struct arguments *a)
{
	churn(a->n[0]);
}

static void do_disturb(const struct arguments *a)
{
	disturb(a->word, a->n[0]);
}

static void do_fork(const struct arguments *a)
{
	(void)a;
	start_child();
}

static void do_brief(const struct arguments *a)
{
	start_brief_child(a->n[0]);
}

static void do_tree(const struct arguments *a)
{
	start_tree(a->n[0], a->n[1]);
}

static void do_thread(const struct arguments *a)
{
	(void)a;
	start_sleeping();
}

static void do_allocate(const struct arguments *a)
{
	(void)a;
	start_allocating();
}

static void do_rounds(const struct arguments *a)
{
	(void)a;
	say_allocations();
}

static void do_set_policy(const struct arguments *a)
{
	set_policy(a->n[0], a->n[1]);
	puts("ok");
}

static void do_readers(const struct arguments *a)
{
	start_reading(a->n[0]);
}

static void do_reader_processes(const struct arguments *a)
{
	start_reading_processes(a->n[0]);
}

static void do_read(const struct arguments *a)
{
	(void)a;
	say_readers();
}

static void do_watch(const struct arguments *a)
{
	watch_faults(a->word);
}

static void do_faults(const struct arguments *a)
{
	(void)a;
	say_faults();
}

static void do_ring(const struct arguments *a)
{
	use_ring(a->word);
}

static void do_random(const struct arguments *a)
{
	(void)a;
	start_reading_random();
}

static void do_measure(const struct arguments *a)
{
	(void)a;
	start_measuring();
}

static void do_longest(const struct arguments *a)
{
	(void)a;
	say_longest();
}

static void do_nap(const struct arguments *a)
{
	(void)a;
	start_napping();
}

static void do_naps(const struct arguments *a)
{
	(void)a;
	say_naps();
}

static void do_handle(const struct arguments *a)
{
	start_handling(a->n[0]);
}

static void do_signals(const struct arguments *a)
{
	(void)a;
	say_signals();
}

static void do_vfork(const struct arguments *a)
{
	look_by_vfork(a->n[0]);
}

static void do_counters(const struct arguments *a)
{
	(void)a;
	say_counters();
}

static void do_halt(const struct arguments *a)
{
	(void)a;
	stop_counting();
}

static void do_exec(const struct arguments *a)
{
	(void)a;
	execv("/proc/self/exe", own_argv);
	die("exec");
}

static const struct {
	const char *name;
	void (*run)(const struct arguments *a);
} commands[] = {
	{ "check", do_check },
	{ "where", do_where },
	{ "fill", do_fill },
	{ "touch", do_touch },
	{ "advise", do_advise },
	{ "protect", do_protect },
	{ "lock", do_lock },
	{ "sync", do_sync },
	{ "unbind", do_unbind },
	{ "policy", do_policy },
	{ "thread-policy", do_thread_policy },
	{ "fresh", do_fresh },
	{ "churn", do_churn },
	{ "disturb", do_disturb },
	{ "fork", do_fork },
	{ "brief", do_brief },
	{ "tree", do_tree },
	{ "thread", do_thread },
	{ "allocate", do_allocate },
	{ "rounds", do_rounds },
	{ "set-policy", do_set_policy },
	{ "readers", do_readers },
	{ "reader-processes", do_reader_processes },
	{ "read", do_read },
	{ "watch", do_watch },
	{ "faults", do_faults },
	{ "ring", do_ring },
	{ "random", do_random },
	{ "measure", do_measure },
	{ "longest", do_longest },
	{ "nap", do_nap },
	{ "naps", do_naps },
	{ "handle", do_handle },
	{ "signals", do_signals },
	{ "vfork", do_vfork },
	{ "counters", do_counters },
	{ "halt", do_halt },
	{ "exec", do_exec },
};

static void obey(char *line)
{
	const char *blanks = " \n", *name = strtok(line, blanks);
	struct arguments a = { 0 };
	unsigned int n = 0;

	for (char *word; name && (word = strtok(NULL, blanks)) && n < 3;) {
		if (*word >= '0' && *word <= '9')
			a.n[n++] = strtoul(word, NULL, 0);
		else
			a.word = word;
	}
	for (size_t i = 0; name && i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (!strcmp(name, commands[i].name)) {
			commands[i].run(&a);
			return;
		}
	}
	puts("what?");
}

int main(int argc, char **argv)
{
	char line[256];

	if (argc < 4)
		return 2;
	own_argv = argv;
	page_size = sysconf(_SC_PAGESIZE);
	n_pages = strtoul(argv[2], NULL, 10);
	setvbuf(stdout, NULL, _IOLBF, 0);
	make_memory(argv[1], atoi(argv[3]));
	start_counting(argc > 4 ? atoi(argv[4]) : 0);
	printf("ready %p %zu\n", (void *)memory, n_pages * page_size);
	while (fgets(line, sizeof(line), stdin))
		obey(line);
	return 0;
}
