// SPDX-License-Identifier: GPL-2.0-only
#include "block_memory.h"
#include "../lock.h"

#include <stdint.h>
#include <stdlib.h>

#define CHUNK (1u << 20)

static struct chunk {
	struct chunk *next;
	size_t used;
	_Alignas(16) char bytes[CHUNK];
} *chunks;
static uint8_t chunks_lock;

void *np_block_memory_take(size_t size)
{
	void *taken = NULL;

	size = (size + 15) & ~(size_t)15;
	np_lock(&chunks_lock);
	if (!chunks || chunks->used + size > CHUNK) {
		struct chunk *one = calloc(1, sizeof(*one));

		if (one)
			one->next = chunks;
		chunks = one ? one : chunks;
	}
	if (chunks && chunks->used + size <= CHUNK) {
		taken = chunks->bytes + chunks->used;
		chunks->used += size;
	}
	np_unlock(&chunks_lock);
	return taken;
}

void np_block_memory_forget(void)
{
	while (chunks) {
		struct chunk *next = chunks->next;

		free(chunks);
		chunks = next;
	}
}
