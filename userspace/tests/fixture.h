/* SPDX-License-Identifier: GPL-2.0-only */
/* What several suites use. */
#ifndef NUMAPLACE_TESTS_FIXTURE_H
#define NUMAPLACE_TESTS_FIXTURE_H

#include "../../tests/cunit_main.h"
#include "../lib/engine/engine.h"
#include "../lib/host/topology.h"

/* A folder for this test, removed by fixture_end(). */
const char *fixture_begin(void);
void fixture_end(void);

/* Writes a file below the fixture, with the folders it needs. */
void fixture_write(const char *path, const char *text);

/* A child that does nothing, and its end. */
pid_t fixture_start_idle(void);
void fixture_end_child(pid_t child);

/* One that holds the saved state, in this file (NULL: its own), once this returns. */
pid_t fixture_hold_state(const char *path);

/* Notes pages of a process on node 1 of two, as what to restore; false where it is noted already. */
bool fixture_note_pages(const struct np_machine *m, pid_t pid, uint64_t on_1);

extern const struct np_engine_ops fake_engine;

#endif
