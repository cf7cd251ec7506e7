// SPDX-License-Identifier: GPL-2.0-only
#include <linux/module.h>

#include "suites.h"

kunit_test_suites(&numaplace_parse_suite, &numaplace_stats_suite, &numaplace_throttle_suite);

MODULE_DESCRIPTION("Tests of numaplace's parsing, accounting and pacing");
MODULE_LICENSE("GPL");
