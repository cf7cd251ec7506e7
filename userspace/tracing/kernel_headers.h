/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the running kernel's headers are, for bpftrace. */
#ifndef NUMAPLACE_KERNEL_HEADERS_H
#define NUMAPLACE_KERNEL_HEADERS_H

/*
 * bpftrace looks in /lib/modules/RELEASE/{source,build}. Debian's build folder
 * alone is not complete: most of its headers are in one beside it, whose name
 * ends in "-common". Where the link "source" is missing, this sets
 * BPFTRACE_KERNEL_BUILD and BPFTRACE_KERNEL_SOURCE; values that the user gave stay.
 */
void np_kernel_headers_export(void);

#endif
