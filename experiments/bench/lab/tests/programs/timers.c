// SPDX-License-Identifier: GPL-2.0-only
/*
 * timers COUNT SECONDS CPUS: timers and ticks of the machine that it runs on, a
 * line for each measurement:
 *
 *   sleep BUSY MEAN MOST
 *   timerfd BUSY MEAN MOST
 *	us that CPU 0 is late after COUNT sleeps of 100 us, or expirations of
 *	a timer of that period, while BUSY other CPUs work (0 or 1)
 *   busy THREADS USED REAL
 *	s of processors that THREADS loops used, user and system, on CPUs 0
 *	to THREADS - 1, and s that passed in them, all together; each works
 *	for SECONDS; for 1 to CPUS
 *   ticks THREADS CPU COUNT REAL
 *	local timer interrupts of a CPU in its loop, and s that passed
 */
#include "../../programs/common.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/timerfd.h>

#define PERIOD_NS 100000
#define MAX_CPUS  64
#define S_NS	  1000000000ll

struct loop {
	pthread_t thread;
	int cpu;
	double seconds, real;
	long ticks;
};

static pthread_barrier_t begin;
static volatile bool stop;

static struct timespec timespec_of(int64_t ns)
{
	return (struct timespec) { .tv_sec = ns / S_NS, .tv_nsec = ns % S_NS };
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* Takes the host next to nothing: no other CPU gets further ahead of one that wakes. */
static void work(void)
{
	__asm__ volatile(".rept 400\n\tnop\n\t.endr");
}

static void print_late(const char *what, bool busy, const int64_t *late, int count)
{
	int64_t sum = 0, most = 0;

	for (int i = 0; i < count; i++) {
		sum += late[i];
		most = late[i] > most ? late[i] : most;
	}
	printf("%s %d %.3f %.3f\n", what, busy, sum / 1e3 / count, most / 1e3);
}

static void sleeps(int64_t *late, int count)
{
	for (int i = 0; i < count; i++) {
		int64_t until = now_ns() + PERIOD_NS;
		struct timespec t = timespec_of(until);

		if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
			fail("clock_nanosleep");
		late[i] = now_ns() - until;
	}
}

static void expirations(int64_t *late, int count)
{
	int64_t due = now_ns() + PERIOD_NS;
	struct itimerspec spec = { timespec_of(PERIOD_NS), timespec_of(due) };
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);

	if (fd < 0 || timerfd_settime(fd, TFD_TIMER_ABSTIME, &spec, NULL))
		fail("timerfd");
	for (int i = 0; i < count; i++) {
		uint64_t expired;

		if (read(fd, &expired, sizeof(expired)) != sizeof(expired))
			fail("timerfd");
		late[i] = now_ns() - due; /* since the first that was not read */
		due += expired * PERIOD_NS;
	}
	close(fd);
}

static void *work_until_stopped(void *unused)
{
	run_on(1);
	while (!stop)
		work();
	return unused;
}

static void measure_late(int count, bool busy)
{
	int64_t *late = calloc(count, sizeof(*late));
	pthread_t other;

	if (!late)
		fail("calloc");
	stop = false;
	if (busy && pthread_create(&other, NULL, work_until_stopped, NULL))
		fail("pthread_create");
	sleeps(late, count);
	print_late("sleep", busy, late, count);
	expirations(late, count);
	print_late("timerfd", busy, late, count);
	stop = true;
	if (busy)
		pthread_join(other, NULL);
	free(late);
}

/* The CPU's local timer interrupts so far: a column of a line of /proc/interrupts. */
static long ticks_of(int cpu)
{
	FILE *file = fopen("/proc/interrupts", "r");
	char line[4096], *at = NULL;
	long ticks = -1;

	while (file && !at && fgets(line, sizeof(line), file))
		at = strstr(line, "LOC:");
	if (!at)
		fail("/proc/interrupts");
	at += strlen("LOC:");
	for (int i = 0; i <= cpu; i++)
		ticks = strtol(at, &at, 10);
	fclose(file);
	return ticks;
}

static void *run_loop(void *arg)
{
	struct loop *loop = arg;
	int64_t start, end;

	run_on(loop->cpu);
	pthread_barrier_wait(&begin);
	start = now_ns();
	loop->ticks = -ticks_of(loop->cpu);
	end = start + loop->seconds * S_NS;
	while (now_ns() < end)
		work();
	loop->ticks += ticks_of(loop->cpu);
	loop->real = (now_ns() - start) / 1e9;
	return NULL;
}

static double used(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static void measure_loops(int threads, double seconds)
{
	struct loop loop[MAX_CPUS];
	double before = used(), real = 0;

	pthread_barrier_init(&begin, NULL, threads);
	for (int i = 0; i < threads; i++) {
		loop[i] = (struct loop) { .cpu = i, .seconds = seconds };
		if (pthread_create(&loop[i].thread, NULL, run_loop, &loop[i]))
			fail("pthread_create");
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(loop[i].thread, NULL);
		real += loop[i].real;
	}
	printf("busy %d %.6f %.6f\n", threads, used() - before, real);
	for (int i = 0; i < threads; i++)
		printf("ticks %d %d %ld %.6f\n", threads, i, loop[i].ticks, loop[i].real);
	pthread_barrier_destroy(&begin);
}

int main(int argc, char **argv)
{
	int count = argc == 4 ? atoi(argv[1]) : 0, cpus = argc == 4 ? atoi(argv[3]) : 0;
	double seconds = argc == 4 ? atof(argv[2]) : 0;

	if (count < 1 || seconds <= 0 || cpus < 2 || cpus > MAX_CPUS)
		return fputs("usage: timers COUNT SECONDS CPUS, at least 2\n", stderr), 2;
	run_on(0);
	if (prctl(PR_SET_TIMERSLACK, 1))
		fail("PR_SET_TIMERSLACK");
	measure_late(count, false);
	measure_late(count, true);
	for (int threads = 1; threads <= cpus; threads++)
		measure_loops(threads, seconds);
	return 0;
}
