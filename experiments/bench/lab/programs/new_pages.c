// SPDX-License-Identifier: GPL-2.0-only
/*
 * new_pages TIMES: touches 32 MiB that it has just mapped, page by page and
 * over and over, and prints how many pages that were.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define SIZE (32ul << 20)
#define PAGE 4096

int main(int argc, char **argv)
{
	unsigned long times = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;

	if (!times)
		return fputs("usage: new_pages TIMES\n", stderr), 2;
	for (unsigned long i = 0; i < times; i++) {
		char *at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
				0);

		if (at == MAP_FAILED || madvise(at, SIZE, MADV_NOHUGEPAGE))
			return perror("new_pages"), 1;
		for (unsigned long offset = 0; offset < SIZE; offset += PAGE)
			at[offset] = 1;
		munmap(at, SIZE);
	}
	printf("%lu\n", times * SIZE / PAGE);
	return 0;
}
