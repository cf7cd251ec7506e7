// SPDX-License-Identifier: GPL-2.0-only
#include "closed_network.h"

#include <math.h>

#define ROUNDS	  1000
#define PRECISION 1e-9
#define MOST	  1e6 /* customers; more are not needed where no station is busy all the time */
#define HALVINGS  60

double np_closed_throughput(const struct np_closed_network *net, double customers)
{
	double rate = 0, last = -1;

	for (size_t i = 0; i < net->n; i++)
		net->queue[i] = customers / (double)net->n;
	for (int round = 0; round < ROUNDS && fabs(rate - last) > PRECISION * rate; round++) {
		double time = net->think;

		last = rate;
		/* One that arrives meets the others as they are on average. */
		for (size_t i = 0; i < net->n; i++) {
			net->queue[i] = net->demand[i] *
					(1 + (customers - 1) / customers * net->queue[i]);
			time += net->queue[i];
		}
		rate = customers / time;
		for (size_t i = 0; i < net->n; i++)
			net->queue[i] *= rate;
	}
	return rate;
}

double np_closed_customers(const struct np_closed_network *net)
{
	double few = 1, many = MOST;

	if (np_closed_throughput(net, few) >= 1)
		return few;
	for (int i = 0; i < HALVINGS; i++) {
		double middle = sqrt(few * many);

		if (np_closed_throughput(net, middle) < 1)
			few = middle;
		else
			many = middle;
	}
	return many;
}
