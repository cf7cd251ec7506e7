/* SPDX-License-Identifier: GPL-2.0-only */
/* A contention model for a machine without a calibrated one. */
#ifndef NUMAPLACE_DERIVE_MODEL_H
#define NUMAPLACE_DERIVE_MODEL_H

#include "../model/model.h"
#include "../policy.h"

/*
 * Fills out, prepared. Latencies come from the distance table, everything else
 * is assumed (see the constants in derive_model.c): good for ranking placements
 * of tasks by distance and by crowding, not for numbers to be quoted. Links
 * are without limit where a full mesh would need more than NP_MODEL_LINKS.
 * 0, or -EINVAL with one line in err (more than NP_MODEL_NODES nodes).
 */
int np_model_derive(struct np_model *out, const struct np_machine *m, char *err, size_t err_len);

#endif
