/* SPDX-License-Identifier: GPL-2.0-only */
/* Fork and exit hooks of placed tasks. */
#ifndef _NUMAPLACE_INHERIT_H
#define _NUMAPLACE_INHERIT_H

int numaplace_inherit_init(void);
void numaplace_inherit_exit(void);

#endif
