// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints how many nanoseconds a look at the clock takes, which np-mem takes after every piece of
 * work.
 */
#include "../emit.h"

#include <stdio.h>

#define LOOKS 1000000

int main(void)
{
	double begin = np_now(), last = begin;

	for (int i = 0; i < LOOKS; i++)
		last = np_now();
	printf("%.1f\n", (last - begin) / LOOKS * 1e9);
	return 0;
}
