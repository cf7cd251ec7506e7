/* SPDX-License-Identifier: GPL-2.0-only */
/* Follows the births and deaths of tasks under control. */
#ifndef _NUMAPLACE_KIN_H
#define _NUMAPLACE_KIN_H

int numaplace_kin_init(void);
void numaplace_kin_exit(void);
void numaplace_kin_sweep_later(void);
void numaplace_kin_sweep_now(void);

#endif
