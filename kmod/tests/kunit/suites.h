/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tests of code that needs neither nodes nor tasks, run by KUnit inside a kernel. Each file
 * includes the source that it tests, so that the module itself stays without them.
 */
#ifndef _NUMAPLACE_SUITES_H
#define _NUMAPLACE_SUITES_H

#include <kunit/test.h>

extern struct kunit_suite numaplace_parse_suite, numaplace_stats_suite, numaplace_throttle_suite;

#endif
