/* SPDX-License-Identifier: GPL-2.0-only */
/* The first option of a command line that its command does not have. */
#ifndef NUMAPLACE_UNKNOWN_OPTION_H
#define NUMAPLACE_UNKNOWN_OPTION_H

#include <argp.h>

struct np_unknown {
	char **word; /* in argv, NULL: none */
	char letter; /* in that word, 0: a long option */
};

struct np_unknown np_unknown_option(const struct argp *argp, char **argv);

/*
 * A letter that the command had until every letter got one meaning: its long
 * option, and in *now the one that the letter stands for. Else NULL.
 */
const char *np_former_letter(const char *command, char letter, const char **now);

#endif
