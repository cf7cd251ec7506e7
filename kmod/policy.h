/* SPDX-License-Identifier: GPL-2.0-only */
/* Gives a task the memory policy that its record wants. */
#ifndef _NUMAPLACE_POLICY_H
#define _NUMAPLACE_POLICY_H

struct mempolicy;
struct numaplace_placement;

struct mempolicy *numaplace_policy_apply(struct numaplace_placement *p);

#endif
