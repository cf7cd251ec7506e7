/* SPDX-License-Identifier: GPL-2.0-only */
/* The daemon's counters in Prometheus' text format, in a file or on a Unix socket. */
#ifndef NUMAPLACE_LIB_METRICS_H
#define NUMAPLACE_LIB_METRICS_H

#include "daemon.h"

/* The whole page, for the caller to free; NULL without memory. */
char *np_metrics_text(const struct np_daemon *d);

struct np_metrics {
	const char *file; /* replaced in one step, for node_exporter's textfile collector */
	char *socket;	  /* answered with HTTP, for curl --unix-socket */
	mode_t mode;	  /* of the socket */
	gid_t group;	  /* of the socket; -1: this process's */
	int listener;	  /* -1: none */
	bool failed;	  /* the file could not be written the last time */
};

/*
 * where: NULL for none, a path (node_exporter wants it to end in .prom), or
 * "unix:PATH[,mode=OCTAL][,group=NAME]", mode 0600 unless it says otherwise. A file is tried. 0, or
 * -errno with one line in err.
 */
int np_metrics_open(struct np_metrics *x, const char *where, struct np_err *err);
void np_metrics_close(struct np_metrics *x);

/*
 * Writes the file, if there is one. 0, or -errno with one line in err where the file could be written
 * the last time.
 */
int np_metrics_write(struct np_metrics *x, const struct np_daemon *d, struct np_err *err);

/* Answers one client that waits at the listener; waits only briefly for its request. */
void np_metrics_answer(const struct np_metrics *x, const struct np_daemon *d);

#endif
