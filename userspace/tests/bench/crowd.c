// SPDX-License-Identifier: GPL-2.0-only
/*
 * crowd N PAGES: N processes that have touched PAGES pages and sleep. Says
 * "ready" on stdout, ends them all when stdin does.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void sleeper(size_t bytes, int ready)
{
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (memory != MAP_FAILED)
		memset(memory, 1, bytes);
	if (write(ready, "r", 1) == 1)
		close(ready);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	long n = argc == 3 ? strtol(argv[1], NULL, 10) : 0, pages = argc == 3 ? atol(argv[2]) : 0;
	pid_t *pid = n > 0 ? calloc((size_t)n, sizeof(*pid)) : NULL;
	int ready[2];
	char word;

	if (!pid || pages < 1 || pipe(ready))
		return fprintf(stderr, "usage: crowd N PAGES\n"), 2;
	for (long i = 0; i < n; i++) {
		pid[i] = fork();
		if (!pid[i])
			sleeper((size_t)pages * 4096, ready[1]);
		if (pid[i] < 0) {
			perror("crowd: fork");
			n = i;
		}
	}
	for (long i = 0; i < n; i++)
		if (read(ready[0], &word, 1) != 1)
			return 1;
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
