// SPDX-License-Identifier: GPL-2.0-only
#include "cases.h"

#include "../predict/derive_model.h"

#define PAGE	   4096
#define TASK_PAGES 100000

uint64_t bench_below(struct bench_case *c, uint64_t limit)
{
	c->state ^= c->state << 13;
	c->state ^= c->state >> 7;
	c->state ^= c->state << 17;
	return c->state % limit;
}

double bench_between(struct bench_case *c, double low, double high)
{
	return low + (high - low) * (double)bench_below(c, 1 << 20) / (1 << 20);
}

static void make_nodes(struct bench_case *c, size_t k, size_t n)
{
	unsigned int cpus = 1 + (unsigned int)(n * 3 / 2 / k);

	c->m = (struct np_machine) { .name = "made-up", .n_nodes = k, .page_size = PAGE };
	c->m.node = calloc(k, sizeof(*c->m.node));
	c->m.distance = calloc(k * k, sizeof(*c->m.distance));
	for (size_t i = 0; i < k; i++)
		c->m.node[i] = (struct np_node) {
			.id = (int)i,
			.cpus = cpus + (unsigned int)bench_below(c, 2),
			.has_memory = true,
			.mem_total = 1ULL << 46,
			.mem_free = 1ULL << 46,
		};
	for (size_t i = 0; i < k; i++)
		for (size_t j = 0; j < k; j++)
			c->m.distance[i * k + j] = i == j ? 10 : (int)(16 + bench_below(c, 12));
}

static void make_model(struct bench_case *c)
{
	struct np_model *m = &c->model;
	double latency = bench_between(c, 70, 110), dram = bench_between(c, 1e10, 3e10);
	char err[200];

	*m = (struct np_model) { .name = "made-up", .line_bytes = 64, .n_nodes = c->m.n_nodes };
	for (size_t i = 0; i < m->n_nodes; i++)
		m->node[i] = (struct np_model_node) {
			.core_outstanding = 10,
			.port_remote_weight = 1,
			.dram_bytes_per_s = dram * bench_between(c, 0.7, 1.4),
			.dram_latency_ns = latency,
			.dram_variability = 0.1,
		};
	for (int i = 0; i < (int)m->n_nodes; i++)
		for (int j = i + 1; j < (int)m->n_nodes; j++)
			m->link[m->n_links++] = (struct np_model_link) {
				.node = { i, j },
				.bytes_per_s = dram * bench_between(c, 0.3, 1),
				.latency_ns = bench_between(c, 0.3, 1.5) * latency,
				.header_bytes = 8,
				.variability = 0.1,
			};
	if (np_model_prepare(m, err, sizeof(err)))
		abort();
}

/* One in four has no known inputs, the others a penalty or a bandwidth. */
static void make_task(struct bench_case *c, size_t i)
{
	size_t k = c->m.n_nodes, holders = 1 + bench_below(c, 3);
	struct np_task *t = &c->task[i];
	uint64_t *pages = c->pages + i * k;

	*t = (struct np_task) {
		.pid = (pid_t)(i + 1),
		.comm = "task",
		.threads = 1,
		.cores = 1,
		.pages = pages,
		.node = (int)(i % k),
	};
	while (holders--)
		pages[bench_below(c, k)] += bench_below(c, TASK_PAGES);
	if (bench_below(c, 4))
		t->outstanding = (struct np_known) { bench_between(c, 1, 10),
						     NP_PROVENANCE_COUNTERS };
	switch (bench_below(c, 4)) {
	case 0:
		t->bandwidth = (struct np_known) { bench_between(c, 1e7, 5e9),
						   NP_PROVENANCE_COUNTERS };
		break;
	case 1:
	case 2:
		t->penalty = bench_between(c, 1, 1.9);
		t->penalty_source = NP_PROVENANCE_COUNTERS;
		break;
	}
	if (bench_below(c, 2)) {
		t->mpki = bench_between(c, 0, 40);
		t->mpki_source = NP_PROVENANCE_COUNTERS;
	}
}

void bench_case_make(struct bench_case *c, size_t k, size_t n, bool derived, uint64_t seed)
{
	char err[200];

	*c = (struct bench_case) { .n = n, .state = seed * 0x9e3779b97f4a7c15ULL + 1 };
	make_nodes(c, k, n);
	if (!derived)
		make_model(c);
	else if (np_model_derive(&c->model, &c->m, err, sizeof(err)))
		abort();
	c->m.model = &c->model;
	c->m.model_origin = derived ? NP_MODEL_DERIVED : NP_MODEL_FILE;
	c->task = calloc(n, sizeof(*c->task));
	c->pages = calloc(n * k, sizeof(*c->pages));
	for (size_t i = 0; i < n; i++)
		make_task(c, i);
}

void bench_case_free(struct bench_case *c)
{
	free(c->m.node);
	free(c->m.distance);
	free(c->task);
	free(c->pages);
}
