/* SPDX-License-Identifier: GPL-2.0-only */
/* A process of the tests that is placed, starts others when it is told to, and is restored. */
#ifndef NUMAPLACE_TESTS_SUBJECT_H
#define NUMAPLACE_TESTS_SUBJECT_H

#include "../../lib/engine/affinity.h"

/* Memory shared by the process and the test. */
struct subject {
	volatile int go; /* one step further */
	volatile pid_t child, thread;
};

extern struct subject *subject;
extern struct np_err subject_err; /* of the last that was placed or restored */

/* A process that runs body and then waits; it ends with the test. */
pid_t subject_start(void (*body)(void));

/* Waits until *value, which the process sets, is the number of a task. */
pid_t subject_await(volatile pid_t *value);
/* In the process: waits until subject->go is set. */
void subject_await_go(void);

/* Bodies: nothing; a thread, and a child, once subject->go is set; an orphan where it is 2 then. */
void subject_waits(void);
void subject_starts_thread(void);
void subject_forks(void);
void subject_forks_and_exits(void);

const char *subject_cpus(pid_t tid);
void subject_set(pid_t tid, const char *list);

int subject_place_as(struct np_place_request r, const char *list);
int subject_place_by(const char *by, pid_t pid, const char *list);
int subject_place(pid_t pid, const char *list);
size_t subject_restore(pid_t pid, size_t *kept);

#endif
