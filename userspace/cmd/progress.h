/* SPDX-License-Identifier: GPL-2.0-only */
/* A bar on the terminal's standard error while pages move. */
#ifndef NUMAPLACE_PROGRESS_H
#define NUMAPLACE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether a bar is drawn: standard error is a terminal and no JSON is requested. */
bool np_progress_watched(void);

/* share: 0 to 1 of what is to be done; ns: that the moves have taken. */
void np_progress_draw(double share, uint64_t moved, uint64_t bytes, uint64_t ns);

/* Clears the line. */
void np_progress_clear(void);

#endif
