// SPDX-License-Identifier: GPL-2.0-only
/*
 * asymsched: nodes whose tasks use each other's memory are moved together to
 * nodes that are better connected, for machines whose links differ.
 *
 * Certain, from a re-implementation of it (hzqmwne/asymsched_demo; not the authors' code): a
 * cluster's weight is the logarithm of its remote bandwidth; a placement's score is the sum, over
 * the links between a cluster's nodes, of bandwidth x weight; of the placements with at least
 * 90 % of the best score the one that moves least memory is taken; it is carried out only if for
 * each application the time for its memory, at 0.3 s a GB, is at most 5 % of its run time.
 * Reconstructed: a cluster is the nodes that remote accesses join; placements are renumberings of
 * the nodes, all of them up to 8 nodes, beyond that what exchanging two nodes at a time improves;
 * where a task's accesses are not counted all go by bandwidth, where one's bandwidth is not known
 * by pages. Left out: the time that earlier moves of the application have taken, which counts
 * there too; a plan knows of no other.
 */
#include <errno.h>

#include "plan/bandwidth.h"
#include "plan/placer.h"

#define TRY_ALL	 8 /* nodes of which every renumbering is tried: 40,320 */
#define GB	 1e9
#define ROUNDING 1e-9 /* of a score */

static const struct np_option options[] = {
	/* clang-format off */
	{ .name = "close", .type = NP_OPT_DOUBLE, .def = 90, .min = 0, .max = 100, .unit = "%",
	  .meaning = "of the best score that a placement must reach to be considered" },
	{ .name = "seconds", .type = NP_OPT_DOUBLE, .def = 0.3, .min = 0, .max = 1000,
	  .unit = "s/GB",
	  .meaning = "time that moving memory is taken to need" },
	{ .name = "share", .type = NP_OPT_DOUBLE, .def = 5, .min = 0, .max = 1e6, .unit = "%",
	  .meaning = "of each task's run time that moving its memory may need, else nothing moves; "
		     "not asked of a task whose run time is not known" },
	NP_OPTION_PENALTY,
	NP_OPTION_RATE,
	NP_OPTION_FILES,
	/* clang-format on */
	{ 0 },
};

/* What a task's traffic is known in: of all tasks the same, or their weights mean nothing. */
enum unit { PAGES, BYTES_PER_S, ACCESSES_PER_S };

struct asym {
	const struct np_machine *m;
	const struct np_task *tasks;
	size_t n, k;
	double *remote;	 /* [k * k] traffic of tasks on one node to memory of another */
	double *one_way; /* [k * k] np_bandwidth_table() */
	double *link;	 /* [k * k] bandwidth between two nodes, both ways together */
	double *weight;	 /* [k] of the cluster that the node is in */
	double *bytes;	 /* [k] of tasks' pages on the node */
	uint64_t *busy;	 /* [k] cores */
	int *cluster;	 /* [k] smallest node of it */
	int *now, *best; /* [k] node that takes the place of each */
	double best_score, best_bytes, close;
	enum unit unit;
};

/* The best that every task has. */
static enum unit common_unit(const struct np_task *tasks, size_t n)
{
	enum unit unit = ACCESSES_PER_S;

	for (size_t i = 0; i < n; i++) {
		const struct np_task *t = &tasks[i];
		enum unit has = t->accesses				  ? ACCESSES_PER_S :
				t->bandwidth.source != NP_PROVENANCE_NONE ? BYTES_PER_S :
									    PAGES;

		if (t->node != NP_NODE_NONE && has < unit)
			unit = has;
	}
	return unit;
}

static void add_traffic(struct asym *a, const struct np_task *t)
{
	double all = 0, rate;

	for (size_t node = 0; node < a->k; node++) {
		all += (double)t->pages[node];
		a->bytes[node] += (double)t->pages[node] * (double)a->m->page_size;
	}
	if (t->node != NP_NODE_NONE)
		a->busy[t->node] += t->cores;
	if (t->node == NP_NODE_NONE || !(all > 0))
		return;
	rate = a->unit == PAGES ? all : t->bandwidth.value;
	for (size_t node = 0; node < a->k; node++)
		if ((int)node != t->node)
			a->remote[(size_t)t->node * a->k + node] +=
				a->unit == ACCESSES_PER_S ? t->accesses[node] :
							    rate * (double)t->pages[node] / all;
}

static void join(struct asym *a, int x, int y)
{
	int from = a->cluster[x] > a->cluster[y] ? a->cluster[x] : a->cluster[y];
	int to = a->cluster[x] > a->cluster[y] ? a->cluster[y] : a->cluster[x];

	for (size_t node = 0; node < a->k; node++)
		if (a->cluster[node] == from)
			a->cluster[node] = to;
}

static void make_clusters(struct asym *a)
{
	for (size_t node = 0; node < a->k; node++) {
		a->cluster[node] = (int)node;
		a->weight[node] = 0;
	}
	for (size_t x = 0; x < a->k; x++)
		for (size_t y = 0; y < a->k; y++)
			if (a->remote[x * a->k + y] > 0)
				join(a, (int)x, (int)y);
	for (size_t node = 0; node < a->k; node++) {
		double sum = 0;

		for (size_t x = 0; x < a->k; x++)
			for (size_t y = 0; y < a->k; y++)
				if (a->cluster[x] == a->cluster[node])
					sum += a->remote[x * a->k + y];
		a->weight[node] = sum > 0 ? log(1 + sum) : 0;
	}
}

/* Whether node x can take the place of node y. */
static bool can_take(const struct asym *a, int x, int y)
{
	return a->busy[y] <= a->m->node[x].cpus && (!(a->bytes[y] > 0) || a->m->node[x].has_memory);
}

static bool stays_or_can_take(const struct asym *a, size_t x)
{
	return a->now[x] == (int)x || can_take(a, a->now[x], (int)x);
}

/* Score and moved bytes of the placement now; false when a node cannot take its place. */
static bool measure(const struct asym *a, double *score, double *bytes)
{
	*score = *bytes = 0;
	for (size_t x = 0; x < a->k; x++) {
		if (!stays_or_can_take(a, x))
			return false;
		if (a->now[x] != (int)x)
			*bytes += a->bytes[x];
		for (size_t y = x + 1; y < a->k; y++)
			if (a->cluster[x] == a->cluster[y])
				*score += a->weight[x] *
					  a->link[(size_t)a->now[x] * a->k + (size_t)a->now[y]];
	}
	return true;
}

static void find_best_score(struct asym *a)
{
	double score, bytes;

	if (measure(a, &score, &bytes) && score > a->best_score) {
		a->best_score = score;
		memcpy(a->best, a->now, a->k * sizeof(*a->best));
	}
}

static void find_least_bytes(struct asym *a)
{
	double score, bytes;

	if (measure(a, &score, &bytes) && score >= a->close * a->best_score &&
	    bytes < a->best_bytes) {
		a->best_bytes = bytes;
		memcpy(a->best, a->now, a->k * sizeof(*a->best));
	}
}

static void swap(int *x, int *y)
{
	int keep = *x;

	*x = *y;
	*y = keep;
}

static void try_from(struct asym *a, size_t at, void (*visit)(struct asym *a))
{
	if (at == a->k) {
		visit(a);
		return;
	}
	for (size_t i = at; i < a->k; i++) {
		swap(&a->now[at], &a->now[i]);
		try_from(a, at + 1, visit);
		swap(&a->now[at], &a->now[i]);
	}
}

static void stay(const struct asym *a, int *place)
{
	for (size_t node = 0; node < a->k; node++)
		place[node] = (int)node;
}

/* What the links of the place of node x add to the score, the one to node except left out. */
static double score_of(const struct asym *a, size_t x, size_t except)
{
	double sum = 0;

	for (size_t y = 0; y < a->k; y++)
		if (y != x && y != except && a->cluster[y] == a->cluster[x])
			sum += a->weight[x] * a->link[(size_t)a->now[x] * a->k + (size_t)a->now[y]];
	return sum;
}

/* What the exchange of the places of x and y adds to the score; 0 where one cannot take its place. */
static double improvement(struct asym *a, size_t x, size_t y)
{
	double more = -score_of(a, x, y) - score_of(a, y, x);

	swap(&a->now[x], &a->now[y]);
	if (stays_or_can_take(a, x) && stays_or_can_take(a, y))
		more += score_of(a, x, y) + score_of(a, y, x);
	else
		more = 0;
	swap(&a->now[x], &a->now[y]);
	return more;
}

/* The most that an exchange adds to the score, and its two nodes. */
static double find_exchange(struct asym *a, size_t pair[2])
{
	double most = 0;

	for (size_t x = 0; x < a->k; x++)
		for (size_t y = x + 1; y < a->k; y++) {
			double more = a->weight[x] > 0 || a->weight[y] > 0 ? improvement(a, x, y) :
									     0;

			if (more > most) {
				most = more;
				pair[0] = x;
				pair[1] = y;
			}
		}
	return most;
}

/* Exchanges two nodes, those that improve the score most, as long as any do. */
static void exchange(struct asym *a)
{
	size_t pair[2] = { 0 };
	double more;

	memcpy(a->now, a->best, a->k * sizeof(*a->now));
	while ((more = find_exchange(a, pair)) > ROUNDING * a->best_score) {
		swap(&a->now[pair[0]], &a->now[pair[1]]);
		a->best_score += more;
	}
	memcpy(a->best, a->now, a->k * sizeof(*a->best));
}

static void find_placement(struct asym *a)
{
	double score, bytes;

	stay(a, a->now);
	stay(a, a->best);
	a->best_score = measure(a, &score, &bytes) ? score : 0;
	if (a->k <= TRY_ALL)
		try_from(a, 0, find_best_score);
	else
		exchange(a);
	memcpy(a->now, a->best, a->k * sizeof(*a->now));
	measure(a, &score, &a->best_bytes);
	stay(a, a->now);
	if (a->k <= TRY_ALL)
		try_from(a, 0, find_least_bytes);
	else
		find_least_bytes(a);
}

static int move_task(const struct asym *a, size_t i, struct np_plan *out, uint8_t *weight)
{
	const struct np_task *t = &a->tasks[i];
	struct np_decision *d = &out->decision[i];
	int home = d->home;
	double most = home == NP_NODE_NONE ? 0 : (double)t->pages[home];
	size_t holders = 0;

	memset(weight, 0, a->k);
	for (size_t node = 0; node < a->k; node++) {
		uint8_t part = most > 0 ? (uint8_t)ceil((double)t->pages[node] / most * 255) : 0;

		weight[a->best[node]] = part;
		holders += part > 0;
	}
	if (t->node != NP_NODE_NONE && a->best[t->node] != t->node)
		d->to = a->best[t->node];
	if (holders == 1)
		d->pages_to = a->best[home];
	else if (holders)
		d->spread = np_plan_spread(out, a->k, weight);
	np_reason(d,
		  "its nodes move together to better connected ones: node %d takes the place "
		  "of node %d",
		  a->m->node[a->best[t->node != NP_NODE_NONE ? t->node : home]].id,
		  a->m->node[t->node != NP_NODE_NONE ? t->node : home].id);
	return holders > 1 && d->spread == NP_NODE_NONE ? -ENOMEM : 0;
}

/* True when one of the nodes that the task runs or has pages on is replaced. */
static bool affected(const struct asym *a, const struct np_task *t)
{
	for (size_t node = 0; node < a->k; node++)
		if ((t->pages[node] || (int)node == t->node) && a->best[node] != (int)node)
			return true;
	return false;
}

/*
 * All or nothing: no cpuset may forbid a task or page its new node. Those that stay are not
 * checked.
 */
static bool all_may(const struct asym *a)
{
	for (size_t i = 0; i < a->n; i++) {
		const struct np_task *t = &a->tasks[i];

		for (int node = 0; node < (int)a->k; node++)
			if (a->best[node] != node &&
			    ((node == t->node && !np_may_run(a->m, t, a->best[node])) ||
			     (t->pages[node] && !np_may_hold(a->m, t, a->best[node]))))
				return false;
	}
	return true;
}

/* GB of the task's pages that lie on nodes which are replaced. */
static double gb_to_move(const struct asym *a, const struct np_task *t)
{
	uint64_t pages = 0;

	for (size_t node = 0; node < a->k; node++)
		pages += a->best[node] == (int)node ? 0 : t->pages[node];
	return (double)pages * (double)a->m->page_size / GB;
}

/* Why no task moves, or "": one task that must not is enough. */
static void object(const struct asym *a, const struct np_options *o, char *why, size_t why_len)
{
	const struct np_policy *self = &np_policy_asymsched;
	double a_gb = np_options_get(self, o, "seconds");
	double limit = np_options_get(self, o, "share") / 100;

	why[0] = '\0';
	if (!all_may(a))
		snprintf(why, why_len, "a cpuset forbids the best placement");
	for (size_t i = 0; !why[0] && i < a->n; i++) {
		const struct np_task *t = &a->tasks[i];
		double gb = gb_to_move(a, t);

		if (t->age_s.source != NP_PROVENANCE_NONE && gb * a_gb > limit * t->age_s.value)
			snprintf(why, why_len,
				 "moving would take too large a share of the run "
				 "time of task %d (%.1f s for %.2f GB, %.0f s run)",
				 (int)t->pid, gb * a_gb, gb, t->age_s.value);
	}
}

static int carry_out(const struct asym *a, const struct np_options *o, struct np_plan *out,
		     uint8_t *weight)
{
	char why[NP_REASON_LEN];
	int e = 0;

	object(a, o, why, sizeof(why));
	for (size_t i = 0; !e && i < a->n; i++) {
		if (!affected(a, &a->tasks[i]))
			np_reason(&out->decision[i],
				  "left alone: no better connected nodes for it");
		else if (why[0])
			np_reason(&out->decision[i], "left alone: %.180s", why);
		else
			e = move_task(a, i, out, weight);
	}
	return e;
}

static void read_machine(struct asym *a)
{
	np_bandwidth_table(a->m, a->one_way);
	for (size_t x = 0; x < a->k; x++)
		for (size_t y = 0; y < a->k; y++)
			a->link[x * a->k + y] = x == y ? 0 :
							 a->one_way[x * a->k + y] +
								 a->one_way[y * a->k + x];
	for (size_t i = 0; i < a->n; i++)
		add_traffic(a, &a->tasks[i]);
}

static int plan(const struct np_machine *m, const struct np_task *tasks, size_t n,
		const struct np_options *o, struct np_plan *out)
{
	size_t k = m->n_nodes;
	double *numbers = calloc(3 * k * k + 2 * k, sizeof(*numbers));
	uint64_t *busy = calloc(k, sizeof(*busy));
	int *nodes = calloc(3 * k, sizeof(*nodes));
	uint8_t *weight = calloc(k, 1);
	int e = -ENOMEM;

	if (numbers && busy && nodes && weight) {
		struct asym a = {
			.m = m,
			.tasks = tasks,
			.n = n,
			.k = k,
			.remote = numbers,
			.link = numbers + k * k,
			.one_way = numbers + 2 * k * k,
			.weight = numbers + 3 * k * k,
			.bytes = numbers + 3 * k * k + k,
			.busy = busy,
			.cluster = nodes,
			.now = nodes + k,
			.best = nodes + 2 * k,
			.close = np_options_get(&np_policy_asymsched, o, "close") / 100,
			.unit = common_unit(tasks, n),
		};

		read_machine(&a);
		make_clusters(&a);
		find_placement(&a);
		e = carry_out(&a, o, out, weight);
	}
	free(numbers);
	free(busy);
	free(nodes);
	free(weight);
	return e;
}

const struct np_policy np_policy_asymsched = {
	.name = "asymsched",
	.summary = "nodes that share memory traffic move together to better connected nodes",
	.origin = "AsymSched (USENIX ATC 2015), as a re-implementation has it",
	.needs = "bandwidth, else pages; contention model, else distances; run time",
	.option = options,
	.plan = plan,
};
