/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every target is libFuzzer's entry point and a list of seeds, from which
 * campaign.py starts together with what earlier runs have found.
 */
#ifndef NUMAPLACE_FUZZ_H
#define NUMAPLACE_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern const char *const fuzz_seeds[]; /* NULL-terminated */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input as a string for free(). */
static inline char *fuzz_string(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

/* The input as a file: writes its path, which goes with close() of what is returned. */
static inline int fuzz_file(const uint8_t *data, size_t size, char path[64])
{
	int fd = memfd_create("fuzz", 0);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

/* A claim about any input. */
#define FUZZ_CLAIM(claim) \
	do { \
		if (!(claim)) \
			abort(); \
	} while (0)

#endif
