/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A closed queueing network: customers that go round among stations for ever, each of which
 * serves one at a time. Solved by approximate mean value analysis (Schweitzer), which is exact
 * for one customer and for stations with equal demands.
 */
#ifndef NUMAPLACE_CLOSED_NETWORK_H
#define NUMAPLACE_CLOSED_NETWORK_H

#include <stddef.h>

struct np_closed_network {
	size_t n;
	const double *demand; /* [n] time that a round needs of each station, alone */
	double think;	      /* time of a round at none of them, however many customers */
	double *queue;	      /* [n] room to work in */
};

/* Rounds in a unit of time of so many customers; at least 1, not only whole numbers. */
double np_closed_throughput(const struct np_closed_network *net, double customers);

/* Customers at which a unit of time has one round; 1 where one customer has more than that. */
double np_closed_customers(const struct np_closed_network *net);

#endif
