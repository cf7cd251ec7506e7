// SPDX-License-Identifier: GPL-2.0-only
/*
 * crowd PROCESSES PAGES [THREADS]: PROCESSES processes of THREADS threads (1) that
 * have touched PAGES pages and sleep. Says "ready" on stdout, ends them all when
 * stdin does.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void *sleep_on(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void add_threads(long threads)
{
	pthread_attr_t small;
	pthread_t id;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	while (--threads > 0)
		if (pthread_create(&id, &small, sleep_on, NULL))
			_exit(1);
}

static _Noreturn void sleeper(size_t bytes, long threads, int ready)
{
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (memory == MAP_FAILED)
		_exit(1);
	memset(memory, 1, bytes);
	add_threads(threads);
	if (write(ready, "r", 1) == 1)
		close(ready);
	sleep_on(NULL);
	_exit(0);
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[1]) : 0, pages = argc > 2 ? atol(argv[2]) : 0;
	long threads = argc > 3 ? atol(argv[3]) : 1;
	pid_t *pid = n > 0 ? calloc((size_t)n, sizeof(*pid)) : NULL;
	int ready[2];
	char word;

	if (!pid || pages < 1 || threads < 1 || pipe(ready))
		return fprintf(stderr, "usage: crowd PROCESSES PAGES [THREADS]\n"), 2;
	for (long i = 0; i < n; i++) {
		pid[i] = fork();
		if (!pid[i])
			sleeper((size_t)pages * 4096, threads, ready[1]);
		if (pid[i] < 0) {
			perror("crowd: fork");
			n = i;
		}
	}
	close(ready[1]);
	for (long i = 0; i < n; i++)
		if (read(ready[0], &word, 1) != 1)
			return fprintf(stderr, "crowd: a process could not start its threads\n"), 1;
	printf("ready %ld\n", n);
	fflush(stdout);
	while (read(STDIN_FILENO, &word, 1) > 0)
		;
	for (long i = 0; i < n; i++)
		kill(pid[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	return 0;
}
