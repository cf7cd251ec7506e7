/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Gains of tasks that exchange messages.
 *
 * A group is a closed queueing network whose stations are its members. A member's demand is the
 * part u of its time that it is busy, so that a round takes a unit of time; the number of
 * customers, the requests in flight, follows from that. With g a member's gain predicted
 * as if what it waits for took as long as before, its demand afterwards is u f,
 * f = 1 + (1 / g - 1) / u, and the group's gain is the rate of rounds.
 *
 * Messages between nodes add a remote latency for each line to the demands of those that read
 * them, with as many lines in flight as demand.c assumes of a core that nothing is known of. What
 * each writes is taken to go to all others alike.
 *
 * Whatever the order in which members wait for each other, a round takes between the least and
 * the largest f times as long, where messages count by one line at a time, and f = 1 counts as
 * well, since something outside may be waited for. Where the plan takes members apart of which
 * no message was counted (send(2) is not), and where a member shares a CPU and is woken late by
 * an unknown time, the group may lose everything.
 */
#ifndef NUMAPLACE_GROUPS_H
#define NUMAPLACE_GROUPS_H

#include "../policy.h"

/*
 * Replaces the gains of tasks in groups, and sets gain_least and gain_most of all tasks. late
 * [n]: the task shares its CPUs afterwards; NULL: none does. 0 or -ENOMEM.
 */
int np_gain_groups(const struct np_machine *m, const struct np_task *tasks, struct np_plan *plan,
		   const bool *late);

#endif
