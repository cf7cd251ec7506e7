// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program to be acted upon: has pages of one kind on one node, knows what
 * must be in them, and does as it is told on its standard input.
 *
 *	target [KIND PAGES NODE [THREADS]]
 *
 * It answers "ready ADDRESS LENGTH" and then, line by line, with one line; "ok"
 * where nothing else is said. FIRST and COUNT are pages of the memory.
 *	allocate KIND PAGES	its pages, where it has none; by its own memory policy
 *	check [FIRST COUNT]	or "bad PAGE" for the first page with wrong contents
 *	where		"N:PAGES .." by node, "absent:PAGES" for those not there
 *	fill FIRST COUNT	writes the contents anew
 *	touch FIRST COUNT	writes to the pages, but not to their contents
 *	advise ADVICE FIRST COUNT	madvise(2); the numbers of the errors instead of ok
 *	protect PROT FIRST COUNT	mprotect(2)
 *	lock FLAGS FIRST COUNT	mlock2(2)
 *	sync		writes a file's pages to its disk
 *	bind NODE	gives its memory a policy of its own, bind to the node; its pages stay
 *	unbind		takes that away
 *	policy		"MODE NODES": the memory policy of the main thread
 *	thread-policy I	the same of thread I
 *	fresh PAGES	touches so many new pages and answers as for where
 *	churn TIMES	maps, touches, protects, moves and unmaps memory
 *	disturb HOW TIMES	does something to half of the pages: see disturb.c
 *	fork		starts a child that sleeps; answers its number
 *	fork-reader	the same, after the child has looked at the contents
 *	fork-orphan	the same as fork; the child outlives its parent
 *	tree DEPTH WIDTH	starts a tree of processes that sleep
 *	thread		starts a thread that sleeps; answers its number
 *	sleepers N	starts so many of them
 *	spinners N	starts threads that use their CPUs
 *	storm		starts short threads without end
 *	count N		starts threads that add to counters in the pages all the time
 *	map-anew	starts a thread that maps, touches and unmaps pages; answers its number
 *	rounds		how often that thread has done so
 *	set-policy M N	gives itself memory policy M with the nodes N (0x..)
 *	readers N	starts threads that look at the contents all the time
 *	reader-processes N	the same as processes
 *	read		"ok ROUNDS" if every reader has gone on and seen no wrong contents
 *	watch missing|wp	a userfaultfd answers such faults
 *	faults		how many it has answered
 *	ring HOW	uses an io_uring: see uring.c
 *	pin N OF	a pipe holds N of every OF pages; answers how many
 *	measure		starts a thread that measures how long it does not run
 *	longest		the longest of these times since it was asked last, in microseconds
 *	nap		starts a thread that sleeps for short times
 *	naps		how often it did, and how often it was cut short
 *	handle N	counts the signals N
 *	signals		how many came
 *	vfork TIMES	starts children by vfork(2) that look at the contents
 *	counters	"ok" if the threads' counters never went back
 *	halt		"ok SUM" if all counts that the threads made are there; stops them and those that use CPUs
 *	exec		executes itself anew, with the same arguments
 *	hand-over	ends the main thread; another obeys from then on
 * THREADS is as "count THREADS".
 */
#define _GNU_SOURCE
#include <errno.h>
#include <numaif.h>
#include <pthread.h>
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

/* Arguments of a command: a word, numbers, or both. */
struct arguments {
	char *word;
	unsigned long n[3];
};

static void do_allocate(const struct arguments *a)
{
	n_pages = a->n[0];
	make_memory(a->word, NODE_BY_POLICY);
}

static void do_check(const struct arguments *a)
{
	size_t n = a->n[1] ? a->n[1] : n_pages, wrong = wrong_page(a->n[0], n);

	if (wrong == a->n[0] + n)
		puts("ok");
	else
		printf("bad %zu\n", wrong);
}

static void do_where(void)
{
	where(memory, n_pages);
}

static void do_fill(const struct arguments *a)
{
	fill_pages(a->n[0], a->n[1]);
}

static void do_touch(const struct arguments *a)
{
	for (size_t p = a->n[0]; p < a->n[0] + a->n[1]; p++)
		++*(volatile uint64_t *)(memory + p * page_size);
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

static void do_policy(void)
{
	unsigned long nodes;
	int mode;

	own_policy(&mode, &nodes);
	say_policy(mode, nodes);
}

static void do_fresh(const struct arguments *a)
{
	char *start = map_aligned(a->n[0] * page_size, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	madvise(start, a->n[0] * page_size, MADV_NOHUGEPAGE);
	memset(start, 1, a->n[0] * page_size);
	where(start, a->n[0]);
}

static void do_disturb(const struct arguments *a)
{
	disturb(a->word, a->n[0]);
}

static void do_fork(void)
{
	start_child(false, false);
}

static void do_fork_reader(void)
{
	start_child(true, false);
}

static void do_fork_orphan(void)
{
	start_child(false, true);
}

static void do_tree(const struct arguments *a)
{
	start_tree(a->n[0], a->n[1]);
}

static void do_set_policy(const struct arguments *a)
{
	set_policy(a->n[0], a->n[1]);
}

static void do_pin(const struct arguments *a)
{
	printf("%zu\n", hold_by_pipe(a->n[0], a->n[1]));
}

static void do_exec(void)
{
	execv("/proc/self/exe", own_argv);
	die("exec");
}

static void do_hand_over(void);

static const struct command {
	const char *name;
	void (*plain)(void);
	void (*word)(const char *word);
	void (*number)(unsigned long n);
	void (*run)(const struct arguments *a);
	bool says_ok; /* once it is done */
} commands[] = {
	{ "allocate", .run = do_allocate, .says_ok = true },
	{ "check", .run = do_check },
	{ "where", .plain = do_where },
	{ "fill", .run = do_fill, .says_ok = true },
	{ "touch", .run = do_touch, .says_ok = true },
	{ "advise", .run = do_advise },
	{ "protect", .run = do_protect },
	{ "lock", .run = do_lock },
	{ "sync", .plain = sync_memory },
	{ "bind", .number = bind_memory, .says_ok = true },
	{ "unbind", .plain = unbind, .says_ok = true },
	{ "policy", .plain = do_policy },
	{ "thread-policy", .number = say_thread_policy },
	{ "fresh", .run = do_fresh },
	{ "churn", .number = churn },
	{ "disturb", .run = do_disturb },
	{ "fork", .plain = do_fork },
	{ "fork-reader", .plain = do_fork_reader },
	{ "fork-orphan", .plain = do_fork_orphan },
	{ "brief", .number = start_brief_child },
	{ "tree", .run = do_tree },
	{ "thread", .plain = start_sleeping },
	{ "sleepers", .number = start_sleepers, .says_ok = true },
	{ "spinners", .number = start_spinning, .says_ok = true },
	{ "storm", .plain = start_storm, .says_ok = true },
	{ "count", .number = start_counting, .says_ok = true },
	{ "map-anew", .plain = start_allocating },
	{ "rounds", .plain = say_allocations },
	{ "set-policy", .run = do_set_policy, .says_ok = true },
	{ "readers", .number = start_reading },
	{ "reader-processes", .number = start_reading_processes },
	{ "read", .plain = say_readers },
	{ "watch", .word = watch_faults },
	{ "faults", .plain = say_faults },
	{ "ring", .word = use_ring },
	{ "pin", .run = do_pin },
	{ "random", .plain = start_reading_random },
	{ "measure", .plain = start_measuring },
	{ "longest", .plain = say_longest },
	{ "nap", .plain = start_napping },
	{ "naps", .plain = say_naps },
	{ "handle", .number = start_handling },
	{ "signals", .plain = say_signals },
	{ "vfork", .number = look_by_vfork },
	{ "counters", .plain = say_counters },
	{ "halt", .plain = stop_counting },
	{ "exec", .plain = do_exec },
	{ "hand-over", .plain = do_hand_over },
};

static void run(const struct command *c, const struct arguments *a)
{
	if (c->plain)
		c->plain();
	else if (c->word)
		c->word(a->word);
	else if (c->number)
		c->number(a->n[0]);
	else
		c->run(a);
	if (c->says_ok)
		puts("ok");
}

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
			run(&commands[i], &a);
			return;
		}
	}
	puts("what?");
}

static void obey_all(void)
{
	char line[256];

	while (fgets(line, sizeof(line), stdin))
		obey(line);
	exit(0);
}

static void *take_over(void *unused)
{
	(void)unused;
	puts("ok");
	obey_all();
	return NULL;
}

static void do_hand_over(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, take_over, NULL))
		die("pthread_create");
	pthread_exit(NULL);
}

int main(int argc, char **argv)
{
	if (argc != 1 && argc < 4)
		return 2;
	own_argv = argv;
	page_size = sysconf(_SC_PAGESIZE);
	setvbuf(stdout, NULL, _IOLBF, 0);
	use_small_stacks();
	if (argc > 3) {
		n_pages = strtoul(argv[2], NULL, 10);
		make_memory(argv[1], atoi(argv[3]));
	}
	start_counting(argc > 4 ? atoi(argv[4]) : 0);
	printf("ready %#lx %zu\n", (unsigned long)memory, n_pages * page_size);
	obey_all();
}
