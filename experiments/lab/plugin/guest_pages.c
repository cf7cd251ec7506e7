// SPDX-License-Identifier: GPL-2.0-only
#include "guest_pages.h"

#include <dlfcn.h>
#include <string.h>

#define CHUNK_SHIFT 21
#define CHUNK	    (1ull << CHUNK_SHIFT)
#define CHUNKS	    (1u << 17) /* 256 GiB of addresses */
#define PRESENT	    1ull
#define PAGE_SIZE   0x80ull /* of an entry above the last level: it maps a page */
#define ADDRESS	    0x000ffffffffff000ull

/* As in QEMU's headers: the pointer is the guest's memory itself, or NULL; *len becomes how much of it. */
static void *(*map_memory)(uint64_t address, uint64_t *len, bool is_write);

static const uint8_t *chunk[CHUNKS];

const char *np_guest_pages_find(void)
{
	void *found = dlsym(RTLD_DEFAULT, "cpu_physical_memory_map");

	if (!found)
		return "cpu_physical_memory_map";
	memcpy(&map_memory, &found, sizeof(found));
	return NULL;
}

/* Chunks that are not all memory have no table: a kernel keeps none beside devices. */
static const uint8_t *map_chunk(uint64_t address)
{
	uint64_t number = address >> CHUNK_SHIFT, len = CHUNK;
	const uint8_t *found;

	if (number >= CHUNKS || !map_memory)
		return NULL;
	found = __atomic_load_n(&chunk[number], __ATOMIC_RELAXED);
	if (found)
		return found;
	found = map_memory(number << CHUNK_SHIFT, &len, false);
	if (!found || len != CHUNK)
		return NULL;
	__atomic_store_n(&chunk[number], found, __ATOMIC_RELAXED);
	return found;
}

static uint64_t read_entry(uint64_t address)
{
	const uint8_t *memory = map_chunk(address);

	return memory ? __atomic_load_n((const uint64_t *)(memory + (address & (CHUNK - 1))),
					__ATOMIC_RELAXED) :
			0;
}

bool np_guest_pages_walk(uint64_t root, uint64_t vaddr, struct np_guest_entry *entry)
{
	uint64_t table = root & ADDRESS;

	entry->leaf = 0;
	for (int shift = 39;; shift -= 9) {
		uint64_t at = table + (vaddr >> shift & 511) * 8, value = read_entry(at);
		uint64_t inside = (1ull << shift) - 1;

		if (!(value & PRESENT))
			return false;
		entry->upper = entry->leaf;
		entry->leaf = at;
		if (shift == 12 || (shift < 39 && value & PAGE_SIZE)) {
			entry->huge = shift > 12;
			entry->page = ((value & ADDRESS & ~inside) | (vaddr & inside)) & ADDRESS;
			return true;
		}
		table = value & ADDRESS;
	}
}
