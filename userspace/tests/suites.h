/* SPDX-License-Identifier: GPL-2.0-only */
/* The suites that main.c runs, and what they share. */
#ifndef NUMAPLACE_TESTS_SUITES_H
#define NUMAPLACE_TESTS_SUITES_H

#include <CUnit/CUnit.h>

#include "../lib/engine/engine.h"
#include "../lib/host/topology.h"

extern CU_TestInfo list_tests[];
extern CU_TestInfo machine_tests[];
extern CU_TestInfo residency_tests[];
extern CU_TestInfo proc_tests[];
extern CU_TestInfo state_tests[];
extern CU_TestInfo layers_tests[];
extern CU_TestInfo restore_tests[];
extern CU_TestInfo undo_tests[];
extern CU_TestInfo module_tests[];
extern CU_TestInfo move_tests[];
extern CU_TestInfo control_tests[];
extern CU_TestInfo tasks_tests[];
extern CU_TestInfo task_watch_tests[];
extern CU_TestInfo penalty_tests[];
extern CU_TestInfo counters_tests[];
extern CU_TestInfo snapshot_tests[];
extern CU_TestInfo machine_file_tests[];
extern CU_TestInfo pins_tests[];
extern CU_TestInfo task_sampling_tests[];
extern CU_TestInfo metrics_tests[];
extern CU_TestInfo weights_tests[];
extern CU_TestInfo weights_state_tests[];
extern CU_TestInfo program_tests[];

/* A folder for this test, removed by fixture_end(). */
const char *fixture_begin(void);
void fixture_end(void);

/* Writes a file below the fixture, with the folders it needs. */
void fixture_write(const char *path, const char *text);

/* Notes pages of a process on node 1 of two, as what to restore; false where it is noted already. */
bool fixture_note_pages(const struct np_machine *m, pid_t pid, uint64_t on_1);

extern const struct np_control fake_engine;

#endif
