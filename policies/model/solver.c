// SPDX-License-Identifier: GPL-2.0-only
/*
 * The contention model's solver.
 *
 * Ports, links and controllers are queues. A core keeps a bounded number of
 * lines in flight, so with T the time that one line takes, waiting included,
 * its traffic is lines / T. A queue of capacity C with load Y makes a line
 * wait w = k * s * u / (1 - u) + d * u, where u = Y / C, s is the time that one
 * line takes of the queue, k its variability and d, of controllers, load_ns. The
 * waiting times that satisfy both for every flow and queue are found by going
 * round the queues, solving one at a time while the others stand still. Loads fall and waiting times
 * rise along one convex function, so the answer is unique where each queue
 * has a capacity of its own.
 */
#include "model.h"

#include <errno.h>
#include <math.h>

#include "queues.h"

#define SWEEPS_MAX  60
#define WHOLE_SWEEP 3	 /* one sweep in so many is over all queues */
#define PRECISION   1e-4 /* of a queue's load, between two sweeps */
#define HALVINGS    48	 /* of the busy part of a queue */

static bool is_amount(double value)
{
	return isfinite(value) && value >= 0;
}

static bool flow_is_valid(const struct np_model *m, const struct np_model_flow *f)
{
	int nodes = (int)m->n_nodes;

	return f->from >= 0 && f->from < nodes && f->to >= 0 && f->to < nodes &&
	       m->node[f->from].core_outstanding > 0 &&
	       (f->from_cache || m->node[f->to].dram_bytes_per_s > 0) && is_amount(f->cores) &&
	       is_amount(f->outstanding) && is_amount(f->demand_bytes_per_s) &&
	       is_amount(f->streams) && is_amount(f->posted_fraction) && f->posted_fraction < 1 &&
	       f->posted_fraction <= f->write_fraction && f->write_fraction <= 1;
}

/*
 * Waiting time at q if all its customers were alike: their load then falls as
 * load / (1 + (w - wait) * slope), which meets the queue's own curve where a
 * quadratic is zero.
 */
static double queue_wait(const struct queue *q, double load, double slope)
{
	double a = q->capacity * slope;
	double b = q->capacity * (1 - q->wait_ns * slope) - load;
	double c = load * q->scale_ns;
	double root = sqrt(b * b + 4 * a * c);

	if (c <= 0 && b >= 0)
		return 0;
	return b > 0 ? 2 * c / (b + root) : (root - b) / (2 * a);
}

/*
 * The same with a part in proportion to the load: load = capacity u (1 + (w(u) - wait) slope) grows
 * with u, the busy part, so a bisection finds it.
 */
static double loaded_wait(const struct queue *q, double load, double slope)
{
	double low = 0, high = 1, wait = 0;

	for (int i = 0; i < HALVINGS; i++) {
		double u = (low + high) / 2;

		wait = q->scale_ns * u / (1 - u) + q->load_ns * u;
		if (q->capacity * u * (1 + (wait - q->wait_ns) * slope) < load)
			low = u;
		else
			high = u;
	}
	return wait;
}

/* Solves one queue; returns by which part its load changed. */
static double solve_queue(struct queues *s, struct queue *q)
{
	const struct visit *first = &s->visit[q->first_visit], *end = first + q->n_visits;
	double load = 0, slope = 0, wait, step;

	for (const struct visit *v = first; v < end; v++) {
		const struct customer *c = &s->customer[v->customer];
		double part = v->weight * c->bytes * c->per_ns;

		load += part;
		slope += v->weight * part * c->per_ns;
	}
	slope /= load;
	wait = (q->load_ns > 0 ? loaded_wait : queue_wait)(q, load, slope);
	step = wait - q->wait_ns;
	q->wait_ns = wait;
	for (const struct visit *v = first; v < end; v++) {
		struct customer *c = &s->customer[v->customer];

		c->time_ns += step * v->weight;
		c->per_ns = 1 / c->time_ns;
	}
	q->load = load / (1 + step * slope);
	return fabs(step) * slope;
}

/*
 * Most queues are nearly idle and converge at once, a few are contended: those
 * are swept again alone, until a sweep over all finds nothing to change.
 */
static void solve_all(struct queues *s)
{
	double change = 1;

	for (int sweep = 0; sweep < SWEEPS_MAX && change > PRECISION; sweep++) {
		bool whole = sweep % WHOLE_SWEEP == 0;

		change = whole ? 0 : change;
		for (size_t i = 0; i < s->n_used; i++) {
			struct queue *q = &s->queue[s->used[i]];

			if (!whole && q->change <= PRECISION)
				continue;
			q->change = np_queues_share(s, s->used[i]);
			q->change = fmax(q->change, solve_queue(s, q));
			change = whole ? fmax(change, q->change) : change;
		}
	}
}

/* Sweeping ends a little off the solution: what is granted must fit all the same. */
static double fits(const struct queues *s, const struct customer *c)
{
	double part = 1;

	for (unsigned int i = 0; i < c->n_visits; i++) {
		const struct queue *q = &s->queue[c->queue[i]];
		double load = q->load;

		if (q->share > 0)
			load += s->queue[c->queue[i] ^ 1].load;
		if (load > q->whole)
			part = fmin(part, q->whole / load);
	}
	return part;
}

int np_model_solve(const struct np_model *m, const struct np_model_flow *flow, size_t n,
		   struct np_model_result *result)
{
	struct queues s;

	if (n > NP_MODEL_FLOWS)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (!flow_is_valid(m, &flow[i]))
			return -EINVAL;
		np_queues_customer(&s.customer[i], m, &flow[i]);
	}
	np_queues_build(&s, m, flow, n);
	solve_all(&s);
	np_queues_total(&s, n);
	for (size_t i = 0; i < n; i++) {
		const struct customer *c = &s.customer[i];
		double time = c->time_ns / fits(&s, c);

		result[i].bytes_per_s = c->bytes / time * NS_PER_S;
		result[i].latency_ns = time - c->think_ns;
	}
	return 0;
}
