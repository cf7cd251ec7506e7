/* SPDX-License-Identifier: GPL-2.0-only */
/* A count of the tokens of a text: experiment 4 of Prabhanjan et al. */
#ifndef NP_REDIS_TOKENS_H
#define NP_REDIS_TOKENS_H

#include "redis_workloads.h"

/*
 * Each token of the text: EXISTS, then SET to 1 or INCR. The text is the
 * data's file, of which at most as many tokens as there are elements are
 * taken; without a file it is made of the seed, with Zipf's frequencies and 13
 * tokens to a word, as the paper's text had.
 */
int np_tokens_load(struct np_client *c, const struct np_data *d);
int np_tokens_update(struct np_client *c, const struct np_data *d, unsigned int generation);
int np_tokens_verify(struct np_client *c, const struct np_data *d, unsigned int generation,
		     struct np_check *check);

#endif
