/* SPDX-License-Identifier: GPL-2.0-only */
/* The daemon's counters in Prometheus' text format, in a file. */
#ifndef NUMAPLACE_LIB_METRICS_H
#define NUMAPLACE_LIB_METRICS_H

#include "daemon.h"

/* The whole page, for the caller to free; NULL without memory. */
char *np_metrics_text(const struct np_daemon *d);

struct np_metrics {
	const char *
		file; /* replaced in one step, for node_exporter's textfile collector; NULL: none */
	bool failed;  /* it could not be written the last time */
};

/*
 * file: NULL for none, or a path (node_exporter wants it to end in .prom), which is tried. 0, or
 * -errno with one line in err, -EINVAL for the address of a socket.
 */
int np_metrics_open(struct np_metrics *x, const char *file, struct np_err *err);
void np_metrics_close(struct np_metrics *x);

/*
 * Writes the file, if there is one. 0, or -errno with one line in err where the file could be written
 * the last time.
 */
int np_metrics_write(struct np_metrics *x, const struct np_daemon *d, struct np_err *err);

#endif
