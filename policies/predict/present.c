// SPDX-License-Identifier: GPL-2.0-only
/*
 * Inverse of the prediction: the demands of tasks at which the predicted traffic of the
 * present placement equals the measured one.
 *
 * A line's time beside its think time follows from all tasks' demands together, and a
 * task's demand follows from its measured traffic and from that time. Both are found by
 * iteration from the largest demands on. A smaller demand of one task makes no other
 * task wait longer, so demands only shrink, and the first that explain the measured
 * traffic are the largest that do. That matters where a queue is full: there traffic hardly
 * depends on demand, and of all that explain it a demand just at the queue's limit
 * would be a coincidence. So where a task waits, FULL of its traffic stands for any
 * demand; where it does not, its demand is as exact as EXACT. When that leaves a task
 * with less than was measured even at its largest demand, the demands of the others
 * that wait with it are too large, and all are made exact.
 */
#include "predict.h"

#define NS_PER_S 1e9
#define ROUNDS	 32
#define EXACT	 0.005 /* of the traffic */
#define FULL	 0.05
#define WAITS	 1.25 /* times its idle latency is what a task meets that waits */
#define BOLDER	 1.5  /* a demand that changed the same way again changes more */
#define BOLDEST	 8

/* Contention of task i at the present placement. */
struct meeting {
	double wants_ns;   /* time of a line that explains what was measured */
	double latency_ns; /* of a line, beside thinking */
	double error;	   /* predicted / measured - 1 */
	bool waits;
};

/* A repetition: its last and its next round. */
struct rounds {
	double local; /* latency */
	bool changed; /* by the last round */
	bool starved; /* some task, in this or an earlier round */
};

static struct meeting meet(struct np_predictor *p, size_t i, double local)
{
	const struct np_demand *own = &p->own[i], *class = &p->demand[p->class[i]];
	double share = np_predict_cpu_share(p, i), bytes = p->model->line_bytes;
	double cores = share * p->tasks[i].cores;
	double line_ns = share * p->alone_ns[p->class[i]] / (double)p->speed[i];
	double idle = np_latency_idle(p->model, &p->tasks[i], local);
	struct meeting m = {
		.wants_ns = cores * own->lines * bytes * NS_PER_S / (1 - np_demand_posted(own)) /
			    own->bytes_per_s,
		.latency_ns = line_ns - class->think_ns,
	};

	m.error = m.wants_ns / (own->think_ns + m.latency_ns) - 1;
	m.waits = m.latency_ns > WAITS * idle;
	return m;
}

/* Changes a demand the same way as last time more boldly, another way with care. */
static double bold(struct np_predictor *p, size_t i, double step)
{
	double last = (double)p->stride[i];
	double bold = last * step > 0 ? fmin(BOLDEST, fabs(last) * BOLDER) : 1;

	p->stride[i] = (float)copysign(bold, step);
	return step * bold;
}

/* Lines that explain the traffic at the penalty's think time, as far as a core can keep them. */
static bool fit_lines(struct np_predictor *p, size_t i, const struct meeting *m)
{
	struct np_demand *d = &p->own[i];
	double lines = d->lines * (d->penalty_think_ns + m->latency_ns) / m->wants_ns;

	if (!isfinite(d->penalty_think_ns) || lines >= d->most_lines)
		return false;
	d->think_ns = d->penalty_think_ns;
	d->lines = fmin(d->most_lines, d->lines * exp(bold(p, i, log(lines / d->lines))));
	return true;
}

static void fit_think(struct np_predictor *p, size_t i, const struct meeting *m)
{
	struct np_demand *d = &p->own[i];
	double wants = m->wants_ns * d->most_lines / d->lines;

	d->lines = d->most_lines;
	d->think_ns = fmax(0, d->think_ns + bold(p, i, wants - m->latency_ns - d->think_ns));
}

static void fit(struct np_predictor *p, size_t i, struct rounds *r)
{
	const struct np_demand before = p->own[i];
	struct meeting m;

	if (p->class[i] < 0 || !p->parts[i] || !(before.bytes_per_s > 0))
		return;
	m = meet(p, i, r->local);
	if (fabs(m.error) <= (m.waits && !r->starved ? FULL : EXACT))
		return;
	if (!fit_lines(p, i, &m))
		fit_think(p, i, &m);
	if (p->own[i].think_ns != before.think_ns || p->own[i].lines != before.lines)
		r->changed = true;
	else if (m.error < -FULL && m.waits && !r->starved)
		r->starved = r->changed = true;
}

void np_predict_present(struct np_predictor *p)
{
	struct rounds r = { .local = np_latencies(p->model).local };

	for (size_t i = 0; i < p->n; i++)
		r.changed |= p->own[i].bytes_per_s > 0;
	for (int round = 0; r.changed && round < ROUNDS; round++) {
		np_predict(p, true);
		r.changed = false;
		for (size_t i = 0; i < p->n; i++)
			fit(p, i, &r);
		if (r.changed)
			np_predict_classes(p);
	}
}
