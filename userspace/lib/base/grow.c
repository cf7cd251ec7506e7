// SPDX-License-Identifier: GPL-2.0-only
#include "grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int np_grow(void *array, size_t n, size_t size)
{
	void *items;

	if (n & (n - 1)) /* there is room up to the next power of two */
		return 0;
	memcpy(&items, array, sizeof(items));
	items = realloc(items, (n ? n * 2 : 1) * size);
	if (!items)
		return -ENOMEM;
	memcpy(array, &items, sizeof(items));
	return 0;
}
