/* SPDX-License-Identifier: GPL-2.0-only */
/* Amounts of memory as the project's files write them. */
#ifndef NUMAPLACE_LIB_SIZE_H
#define NUMAPLACE_LIB_SIZE_H

#include <stdint.h>

/* "512 MiB", "1GiB", "4 KiB" or "0" in bytes; -EINVAL for anything else. */
int np_size_parse(const char *text, uint64_t *bytes);

#endif
