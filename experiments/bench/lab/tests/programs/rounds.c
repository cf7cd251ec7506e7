// SPDX-License-Identifier: GPL-2.0-only
/*
 * rounds TIMES: fills 64 KiB over and over by one repeated string
 * instruction, and prints how many rounds of it that took.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define WORDS 8192

int main(int argc, char **argv)
{
	unsigned long times = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	static uint64_t word[WORDS];

	if (!times)
		return fputs("usage: rounds TIMES\n", stderr), 2;
	for (unsigned long i = 0; i < times; i++) {
		uint64_t *to = word;
		unsigned long left = WORDS;

		__asm__ volatile("rep stosq" : "+D"(to), "+c"(left) : "a"(i) : "memory");
	}
	printf("%lu\n", times * WORDS);
	return 0;
}
