/* SPDX-License-Identifier: GPL-2.0-only */
/* When the records of tasks are looked at for work that is pending. */
#ifndef _NUMAPLACE_SWEEP_H
#define _NUMAPLACE_SWEEP_H

#include <linux/types.h>

int numaplace_sweep_init(bool (*act)(void));
void numaplace_sweep_exit(void);
void numaplace_sweep_later(void);
void numaplace_sweep_now(void);

#endif
