/* SPDX-License-Identifier: GPL-2.0-only */
/* The first option of a command line that its command does not have. */
#ifndef NUMAPLACE_UNKNOWN_OPTION_H
#define NUMAPLACE_UNKNOWN_OPTION_H

#include <argp.h>

/* Returns the word in argv, NULL where there is none. */
char **np_unknown_option(const struct argp *argp, char **argv);

#endif
