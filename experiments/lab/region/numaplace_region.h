/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* Public: `make install` installs it (Documentation/reference/library.md). */
/*
 * Names a part of a program for `numaplace lab run --region NAME`. The process is in the region
 * while one of its threads is; regions may nest. Outside the lab the instruction does nothing.
 * name: up to 63 bytes. For x86-64, C and C++.
 */
#ifndef NUMAPLACE_REGION_H
#define NUMAPLACE_REGION_H

#define NUMAPLACE_REGION_BEGIN(name) NUMAPLACE_REGION_TELL(2, name)
#define NUMAPLACE_REGION_END(name)   NUMAPLACE_REGION_TELL(3, name)

/* nopl 0x6e7000NN(%rax); the name's first byte is read, so that its page is in memory. */
#define NUMAPLACE_REGION_TELL(number, name) \
	__asm__ __volatile__(".byte 0x0f, 0x1f, 0x80, " #number ", 0x00, 0x70, 0x6e" \
			     : \
			     : "a"(name), "c"(__builtin_strlen(name)), \
			       "d"(*(const volatile char *)(name)) \
			     : "memory")

#endif
