// SPDX-License-Identifier: GPL-2.0-only
/* Which queues a flow visits, with what weight, and how much each can take. */
#include "queues.h"

#include <math.h>
#include <string.h>

#define STEP	      0.7
#define LINK_SHARE    0.5  /* outward and back packets take turns */
#define MOST_LOCAL    0.99 /* of a controller */
#define NO_WAIT_SCALE 1e-3 /* nanoseconds: a queue without variability waits only when full */

/* Lines that each core of f keeps in flight. */
static double lines_in_flight(const struct np_model *m, const struct np_model_flow *f)
{
	double most = np_model_stream_lines(&m->node[f->from]);

	return f->outstanding > 0 && f->outstanding < most ? f->outstanding : most;
}

static double unloaded_ns(const struct np_model *m, const struct np_model_flow *f)
{
	const struct np_model_node *to = &m->node[f->to];

	return (f->from_cache ? to->cache_latency_ns : to->dram_latency_ns) +
	       m->link_ns[f->from][f->to];
}

/* Bytes a second that a core of f asks for on an idle machine; 0: as much as it can. */
static double demand(const struct np_model *m, const struct np_model_flow *f)
{
	double most = m->node[f->from].core_bytes_per_s;

	if (most > 0 && (f->demand_bytes_per_s > most || !(f->demand_bytes_per_s > 0)))
		return most;
	return f->demand_bytes_per_s;
}

void np_queues_customer(struct customer *c, const struct np_model *m, const struct np_model_flow *f)
{
	double lines = lines_in_flight(m, f), unloaded = unloaded_ns(m, f);
	double bytes = lines * m->line_bytes / (1 - f->posted_fraction);
	double asked = demand(m, f);
	double think = asked > 0 ? fmax(0, bytes * NS_PER_S / asked - unloaded) : 0;

	c->bytes = f->cores * bytes;
	c->think_ns = think;
	c->time_ns = think + unloaded;
	c->per_ns = 1 / c->time_ns;
	c->asked_lines = f->cores * lines * unloaded / c->time_ns;
	c->n_visits = 0;
}

static void set_queue(struct queue *q, const struct np_model *m, double bytes_per_s,
		      double variability, double share)
{
	double capacity = bytes_per_s / NS_PER_S;

	*q = (struct queue) { .whole = capacity, .share = share, .capacity = capacity };
	q->scale_ns = fmax(NO_WAIT_SCALE, variability * m->line_bytes / capacity);
}

static void visit(struct queues *s, struct customer *c, unsigned int queue, double weight)
{
	if (!(weight > 0))
		return;
	c->queue[c->n_visits] = (unsigned short)queue;
	c->weight[c->n_visits++] = weight;
	s->queue[queue].n_visits++;
}

/* Bytes on the wire for each byte of f's traffic, towards the lines' node or back. */
static double link_weight(const struct np_model *m, const struct np_model_link *l,
			  const struct np_model_flow *f, bool back)
{
	double lines = back ? 1 - f->write_fraction : f->write_fraction;

	/* A packet each way for every line; one of the two carries the line. */
	return lines + l->header_bytes / m->line_bytes;
}

static void visit_port(struct queues *s, const struct np_model *m, const struct np_model_flow *f,
		       struct customer *c)
{
	const struct np_model_node *node = &m->node[f->from];
	double weight = f->from == f->to ? 1 : node->port_remote_weight;

	if (node->port_bytes_per_s > 0)
		visit(s, c, PORT(f->from), weight);
}

static void visit_links(struct queues *s, const struct np_model *m, const struct np_model_flow *f,
			struct customer *c)
{
	for (int i = 0; i < m->hops[f->from][f->to]; i++) {
		unsigned int out = m->route[f->from][f->to][i];
		const struct np_model_link *l = &m->link[out / 2];

		if (!(l->bytes_per_s > 0))
			continue;
		visit(s, c, LINK(out / 2, out % 2, OUTWARD), link_weight(m, l, f, false));
		visit(s, c, LINK(out / 2, 1 - out % 2, BACK), link_weight(m, l, f, true));
	}
}

/* A controller that turns from reads to writes does neither. */
static double dram_weight(const struct np_model *m, const struct np_model_flow *f)
{
	return 1 + m->node[f->to].write_loss * f->write_fraction;
}

static int class_of(const struct np_model *m, const struct np_model_flow *f)
{
	return m->node[f->to].dram_local_share > 0 && f->from != f->to ? REMOTE : LOCAL;
}

static double overflow(double asked, double entries)
{
	return entries > 0 && asked > entries ? asked / entries - 1 : 0;
}

/* What asks a controller: beyond its entries in parts of them, by where it comes from. */
struct asking {
	double overflow[2], streams;
};

static struct asking asking(const struct queues *s, const struct np_model *m, int node,
			    const struct np_model_flow *flow, size_t n)
{
	const struct np_model_node *d = &m->node[node];
	double streams = 0, asked[2] = { 0, 0 };

	for (size_t i = 0; i < n; i++) {
		if (flow[i].to != node || flow[i].from_cache)
			continue;
		streams += flow[i].cores * flow[i].streams;
		asked[flow[i].from == node ? LOCAL : REMOTE] += s->customer[i].asked_lines;
	}
	return (struct asking) { .overflow = { [LOCAL] = overflow(asked[LOCAL], d->local_entries),
					       [REMOTE] = overflow(asked[REMOTE],
								   d->remote_entries) },
				 .streams = streams };
}

/* Bandwidth that a controller sustains: retries and row conflicts reduce it. */
static double dram_capacity(const struct np_model_node *d, const struct asking *by)
{
	double lost = d->local_overflow_loss * by->overflow[LOCAL] +
		      d->remote_overflow_loss * by->overflow[REMOTE] +
		      d->stream_loss * fmax(0, by->streams - 1);

	return d->dram_bytes_per_s / (1 + lost);
}

/*
 * Own cores that ask for more than its entries hold, ask again: so they are served more often than
 * others.
 */
static double local_share(const struct np_model_node *d, const struct asking *by)
{
	double grown = d->dram_local_share * (1 + d->local_overflow_share * by->overflow[LOCAL]);

	return fmin(grown, MOST_LOCAL);
}

static void set_node_queues(struct queues *s, const struct np_model *m, int node,
			    const struct np_model_flow *flow, size_t n)
{
	const struct np_model_node *d = &m->node[node];
	const struct asking by = asking(s, m, node, flow, n);
	double capacity = dram_capacity(d, &by), local = local_share(d, &by);

	set_queue(&s->queue[PORT(node)], m, d->port_bytes_per_s, d->port_variability, 0);
	set_queue(&s->queue[DRAM(node, LOCAL)], m, capacity, d->dram_variability, local);
	set_queue(&s->queue[DRAM(node, REMOTE)], m, capacity, d->dram_variability, 1 - local);
	s->queue[DRAM(node, LOCAL)].load_ns = s->queue[DRAM(node, REMOTE)].load_ns = d->dram_load_ns;
}

static void set_link_queues(struct queues *s, const struct np_model *m, int link)
{
	const struct np_model_link *l = &m->link[link];

	for (int q = LINK(link, 0, 0); q < LINK(link + 1, 0, 0); q++)
		set_queue(&s->queue[q], m, l->bytes_per_s, l->variability, LINK_SHARE);
}

/* Lists those of the queues from first to before end that a flow visits. */
static void list_used(struct queues *s, size_t first, size_t end, unsigned int *next)
{
	for (size_t q = first; q < end; q++) {
		if (!s->queue[q].n_visits)
			continue;
		s->used[s->n_used++] = (unsigned short)q;
		s->queue[q].first_visit = *next;
		*next += s->queue[q].n_visits;
		s->queue[q].n_visits = 0;
	}
}

/* Turns "flow visits queues" into "queue is visited by flows". */
static void list_visits(struct queues *s, const struct np_model *m, size_t n)
{
	unsigned int next = 0;

	s->n_used = 0;
	list_used(s, DRAM(0, 0), DRAM(m->n_nodes, 0), &next);
	list_used(s, LINK(0, 0, 0), LINK(m->n_links, 0, 0), &next);
	list_used(s, PORT(0), PORT(m->n_nodes), &next);
	for (size_t i = 0; i < n; i++) {
		const struct customer *c = &s->customer[i];

		for (unsigned int v = 0; v < c->n_visits; v++) {
			struct queue *q = &s->queue[c->queue[v]];

			s->visit[q->first_visit + q->n_visits++] = (struct visit) {
				(unsigned short)i, c->weight[v]
			};
		}
	}
}

void np_queues_build(struct queues *s, const struct np_model *m, const struct np_model_flow *flow,
		     size_t n)
{
	for (size_t node = 0; node < m->n_nodes; node++)
		set_node_queues(s, m, (int)node, flow, n);
	for (size_t link = 0; link < m->n_links; link++)
		set_link_queues(s, m, (int)link);
	for (size_t i = 0; i < n; i++) {
		struct customer *c = &s->customer[i];

		if (!(c->bytes > 0))
			continue;
		visit_port(s, m, &flow[i], c);
		visit_links(s, m, &flow[i], c);
		if (!flow[i].from_cache)
			visit(s, c, DRAM(flow[i].to, class_of(m, &flow[i])),
			      dram_weight(m, &flow[i]));
	}
	list_visits(s, m, n);
}

/*
 * Each class has its reserved share, and borrows what the other one leaves
 * idle of its own. A link lends packet by packet, all that is idle. A
 * controller reserves entries, and hardly lends one while a request of the other
 * class is about: what it lends falls with the cube of the idle part, which fits
 * Luo's Table 1(b) better than the square, and the fifth power no better.
 * Not a whole step at a time, since the two classes follow each other.
 */
double np_queues_share(struct queues *s, unsigned int q)
{
	struct queue *mine = &s->queue[q];
	const struct queue *other = &s->queue[q ^ 1];
	double reserved, lent, step;

	if (!(mine->share > 0))
		return 0;
	reserved = other->share * mine->whole;
	lent = fmax(0, 1 - other->load / reserved);
	if (q < LINK(0, 0, 0))
		lent *= lent * lent;
	step = STEP * (mine->whole - reserved * (1 - lent) - mine->capacity);
	mine->capacity += step;
	return fabs(step) / mine->whole;
}

void np_queues_total(struct queues *s, size_t n)
{
	for (size_t i = 0; i < s->n_used; i++)
		s->queue[s->used[i]].load = 0;
	for (size_t i = 0; i < n; i++) {
		const struct customer *c = &s->customer[i];

		for (unsigned int v = 0; v < c->n_visits; v++)
			s->queue[c->queue[v]].load += c->weight[v] * c->bytes / c->time_ns;
	}
}
