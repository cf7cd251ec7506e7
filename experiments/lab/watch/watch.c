// SPDX-License-Identifier: GPL-2.0-only
/*
 * watch CMD [ARG]..: runs a command, and tells the plugin what lies where in the memory of its
 * processes, as notes of one line:
 *
 *   NS mmap TGID ADDRESS BYTES OFFSET PROT NAME    PROT as of mmap(2)
 *   NS exec TGID NAME
 *   NS fork TGID PARENT
 *   NS lost RECORDS
 *
 * It takes them from perf's records. Exit status: the command's; where a signal ended that, it
 * ends by the same one.
 */
#include "../guest/shared.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STRING(...)	  #__VA_ARGS__
#define BYTES(...)	  STRING(__VA_ARGS__)
#define RING_PAGES	  128 /* of a CPU */
#define STATUS_NO_PROGRAM 127

struct ring {
	struct perf_event_mmap_page *head;
	unsigned char *data;
	size_t size;
};

static void note(const char *text)
{
	asm volatile(".byte " BYTES(NP_LAB_MARKER(NP_LAB_NOTE))
		     :
		     : "a"(text), "c"(strlen(text))
		     : "memory");
}

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	char text[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	note(text);
}

__attribute__((noreturn)) static void fail(const char *what)
{
	fprintf(stderr, "numaplace lab: the command's memory cannot be watched: %s: %s\n", what,
		strerror(errno));
	exit(125);
}

/* sample_id_all puts it at a record's end: who, and when. */
struct sample_id {
	uint32_t pid, tid;
	uint64_t time;
};

struct mmap2 {
	uint32_t pid, tid;
	uint64_t address, bytes, offset;
	uint64_t file[3];
	uint32_t prot, flags;
	char name[];
};

struct fork {
	uint32_t pid, parent;
};

struct comm {
	uint32_t pid, tid;
	char name[];
};

struct lost {
	uint64_t number, records;
};

static void tell(const struct perf_event_header *h)
{
	const struct sample_id *id = (const void *)((const char *)h + h->size - sizeof(*id));
	const void *body = h + 1;
	const struct mmap2 *map = body;
	const struct comm *comm = body;
	const struct fork *fork = body;
	const struct lost *lost = body;

	if (h->type == PERF_RECORD_MMAP2)
		say("%lu mmap %u %#lx %lu %lu %u %s", id->time, map->pid, map->address, map->bytes,
		    map->offset, map->prot, map->name);
	else if (h->type == PERF_RECORD_COMM && h->misc & PERF_RECORD_MISC_COMM_EXEC)
		say("%lu exec %u %s", id->time, comm->pid, comm->name);
	else if (h->type == PERF_RECORD_FORK && fork->pid != fork->parent)
		say("%lu fork %u %u", id->time, fork->pid, fork->parent);
	else if (h->type == PERF_RECORD_LOST)
		say("%lu lost %lu", id->time, lost->records);
}

/* A record may go on at the ring's begin. */
static void drain(const struct ring *r)
{
	uint64_t tail = r->head->data_tail,
		 head = __atomic_load_n(&r->head->data_head, __ATOMIC_ACQUIRE);
	union {
		struct perf_event_header head;
		unsigned char byte[1 << 16];
	} record;

	while (tail < head) {
		const struct perf_event_header *h = (const void *)(r->data + tail % r->size);
		uint16_t size = h->size;

		for (uint16_t i = 0; i < size; i++)
			record.byte[i] = r->data[(tail + i) % r->size];
		tell(&record.head);
		tail += size;
	}
	__atomic_store_n(&r->head->data_tail, tail, __ATOMIC_RELEASE);
}

static int open_event(pid_t pid, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.disabled = 1,
		.enable_on_exec = 1,
		.inherit = 1,
		.mmap = 1,
		.mmap2 = 1,
		.mmap_data = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.watermark = 1,
		.wakeup_watermark = RING_PAGES / 2 * 4096,
	};

	return syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static struct ring map_ring(int fd)
{
	struct ring r = { .size = RING_PAGES * 4096ul };

	r.head = mmap(NULL, r.size + 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (r.head == MAP_FAILED)
		fail("a ring buffer");
	r.data = (unsigned char *)r.head + 4096;
	return r;
}

/* Waits at `go` until it is watched from its begin. */
static pid_t start(char **argv, int go[2])
{
	pid_t pid;
	char byte;

	if (pipe(go))
		fail("a pipe");
	pid = fork();
	if (pid < 0)
		fail("fork");
	if (pid)
		return pid;
	close(go[1]);
	if (read(go[0], &byte, 1) < 0)
		_exit(STATUS_NO_PROGRAM);
	close(go[0]);
	execvp(argv[0], argv);
	fprintf(stderr, "numaplace lab: %s: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? STATUS_NO_PROGRAM : STATUS_NO_PROGRAM - 1);
}

/* Until the command has ended. */
static void watch(struct pollfd *waits, struct ring *rings, int n, int process)
{
	waits[n] = (struct pollfd) { .fd = process, .events = POLLIN };
	do {
		if (poll(waits, n + 1, -1) < 0 && errno != EINTR)
			fail("poll");
		for (int i = 0; i < n; i++)
			drain(&rings[i]);
	} while (!(waits[n].revents & POLLIN));
}

static void end_as(int status)
{
	const struct rlimit none = { 0 };

	if (WIFSIGNALED(status)) {
		setrlimit(RLIMIT_CORE, &none);
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	exit(WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
	int cpus = sysconf(_SC_NPROCESSORS_CONF), go[2], status, process;
	struct pollfd *waits = calloc(cpus + 1, sizeof(*waits));
	struct ring *rings = calloc(cpus, sizeof(*rings));
	pid_t pid;

	if (argc < 2 || !waits || !rings)
		return 125;
	pid = start(argv + 1, go);
	for (int i = 0; i < cpus; i++) {
		waits[i] = (struct pollfd) { .fd = open_event(pid, i), .events = POLLIN };
		if (waits[i].fd < 0)
			fail("perf_event_open");
		rings[i] = map_ring(waits[i].fd);
	}
	process = syscall(SYS_pidfd_open, pid, 0);
	if (process < 0)
		fail("pidfd_open");
	close(go[0]);
	close(go[1]);
	watch(waits, rings, cpus, process);
	if (waitpid(pid, &status, 0) != pid)
		fail("waitpid");
	for (int i = 0; i < cpus; i++)
		drain(&rings[i]);
	end_as(status);
}
