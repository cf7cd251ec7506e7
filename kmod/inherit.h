/* SPDX-License-Identifier: GPL-2.0-only */
/* Fork and exit hooks of placed tasks. */
#ifndef _NUMAPLACE_KIN_H
#define _NUMAPLACE_KIN_H

int numaplace_kin_init(void);
void numaplace_kin_exit(void);
void numaplace_kin_sweep_later(void);
void numaplace_kin_sweep_now(void);

#endif
