/* SPDX-License-Identifier: GPL-2.0-only */
/* Parts of JSON answers that several commands print. */
#ifndef NUMAPLACE_LIB_JSON_H
#define NUMAPLACE_LIB_JSON_H

#include <jansson.h>

#include "../base/error.h"
#include "../host/topology.h"

struct bitmask;

/*
 * The value in a file ("-": on standard input), which the caller releases; NULL with one line in err,
 * and errno. what, of NP_JSON_WHAT bytes, becomes "plan F" or "plan on standard input", for later errors.
 */
#define NP_JSON_WHAT 128
json_t *np_json_read(const char *kind, const char *path, char *what, struct np_err *err);

/* {"0": pages, "1": pages} by the kernel's node numbers. */
json_t *np_json_pages(const struct np_machine *m, const uint64_t *pages);
json_t *np_json_reals(const struct np_machine *m, const double *value);
void np_json_set_node(json_t *object, const struct np_machine *m, size_t node, json_t *value);

/* The value of one node in such an object, or NULL. */
json_t *np_json_of_node(const json_t *object, const struct np_machine *m, size_t node);

/* A list of CPUs or nodes as a string, "0-3,8", however long. */
json_t *np_json_list(const struct bitmask *mask);

/* Text that may hold any bytes, as a process's name may: what is not UTF-8 becomes '?'. */
json_t *np_json_text(const char *text);

/* What the object has of that name; "" and 0 where it has no such text or number. */
const char *np_json_text_of(const json_t *object, const char *key);
double np_json_number_of(const json_t *object, const char *key);

/* The kernel's number of the node, or null. */
json_t *np_json_node(const struct np_machine *m, int node);

/* {"value": 1.25, "source": "counters"}; the value is null when the source is unknown. */
json_t *np_json_known(double value, enum np_provenance source);

#endif
