/* SPDX-License-Identifier: GPL-2.0-only */
/* The files below /sys/kernel/debug/numaplace. */
#ifndef _NUMAPLACE_DEBUGFS_H
#define _NUMAPLACE_DEBUGFS_H

int numaplace_debugfs_init(void);
void numaplace_debugfs_exit(void);

#endif
