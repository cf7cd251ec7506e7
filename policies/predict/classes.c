// SPDX-License-Identifier: GPL-2.0-only
/* Sorts tasks into classes of alike. */
#include "predict.h"

#define FINEST 8.0 /* steps an octave in which two tasks count as alike */

/* Common properties of the tasks of a class, as whole steps. */
struct kind {
	int time, lines, writes;
};

static struct kind kind_of(const struct np_demand *d, double local, double steps)
{
	return (struct kind) {
		(int)floor(log2(d->think_ns + local) * steps + 0.5),
		(int)floor(log2(d->lines) * steps + 0.5),
		(int)floor(d->writes * steps + 0.5),
	};
}

static bool same_kind(struct kind a, struct kind b)
{
	return a.time == b.time && a.lines == b.lines && a.writes == b.writes;
}

static void average_in(struct np_demand *sum, const struct np_demand *d, size_t n)
{
	sum->think_ns += (d->think_ns - sum->think_ns) / (double)n;
	sum->lines += (d->lines - sum->lines) / (double)n;
	sum->writes += (d->writes - sum->writes) / (double)n;
}

/* Sorts with this many steps an octave; false when there are too many kinds. 0: all are one. */
static bool sort(struct np_predictor *p, double local, double steps)
{
	struct kind kind[NP_PREDICT_CLASSES];
	size_t members[NP_PREDICT_CLASSES] = { 0 };

	p->n_classes = 0;
	for (size_t i = 0; i < p->n; i++) {
		const struct np_demand *d = &p->own[i];
		struct kind mine;
		size_t c = 0;

		p->class[i] = -1;
		if (!isfinite(d->think_ns))
			continue;
		mine = kind_of(d, local, steps);
		while (c < p->n_classes && !same_kind(kind[c], mine))
			c++;
		if (c == NP_PREDICT_CLASSES)
			return false;
		if (c == p->n_classes) {
			kind[p->n_classes++] = mine;
			p->demand[c] = (struct np_demand) { 0 };
		}
		average_in(&p->demand[c], d, ++members[c]);
		p->class[i] = (signed char)c;
	}
	return true;
}

/* Few tasks are each a class of their own, so that nothing is averaged. */
static void one_each(struct np_predictor *p)
{
	p->n_classes = 0;
	for (size_t i = 0; i < p->n; i++) {
		bool memory = isfinite(p->own[i].think_ns);

		p->class[i] = memory ? (signed char)p->n_classes : -1;
		if (memory)
			p->demand[p->n_classes++] = p->own[i];
	}
}

/* A core may have a rate of its own that it cannot exceed. */
static void respect_core_rate(struct np_predictor *p)
{
	double cap = INFINITY;

	for (size_t i = 0; i < p->k; i++)
		if (p->model->node[i].core_bytes_per_s > 0)
			cap = fmin(cap, p->model->node[i].core_bytes_per_s);
	for (size_t c = 0; c < p->n_classes && isfinite(cap); c++)
		p->alone_ns[c] = fmax(p->alone_ns[c],
				      p->demand[c].lines * p->model->line_bytes /
					      (1 - np_demand_posted(&p->demand[c])) * 1e9 / cap);
}

void np_predict_classes(struct np_predictor *p)
{
	double local = np_latencies(p->model).local, steps = FINEST;

	if (p->n <= NP_PREDICT_CLASSES) {
		one_each(p);
	} else {
		while (!sort(p, local, steps))
			steps = steps > 0.1 ? steps / 2 : 0;
	}
	for (size_t c = 0; c < p->n_classes; c++)
		p->alone_ns[c] = p->demand[c].think_ns + local;
	if (!p->n_classes)
		p->n_classes = 1;
	respect_core_rate(p);
}
