// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"
#include "tlb.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NUMBERS 5

struct parser {
	const char *path;
	int line;
	char *err;
	size_t err_len;
};

__attribute__((format(printf, 2, 3))) static int fail(const struct parser *p, const char *why, ...)
{
	int n = p->line ? snprintf(p->err, p->err_len, "%s:%d: ", p->path, p->line) :
			  snprintf(p->err, p->err_len, "%s: ", p->path);
	va_list args;

	va_start(args, why);
	if (n >= 0 && (size_t)n < p->err_len)
		vsnprintf(p->err + n, p->err_len - n, why, args);
	va_end(args);
	return -1;
}

/* Blank- or comma-separated numbers; returns how many, or -1. */
static int numbers(char *text, double *value, int max)
{
	int n = 0;

	for (char *word = strtok(text, ", \t"); word; word = strtok(NULL, ", \t")) {
		char *end;

		if (n == max)
			return -1;
		value[n] = strtod(word, &end);
		if (*end || !(value[n] >= 0) || value[n] > 1e15)
			return -1;
		n++;
	}
	return n;
}

static bool is_node(double value)
{
	return value < NP_LAB_MAX_NODES && value == (unsigned int)value;
}

static int set_cpu_node(const struct parser *p, struct np_config *c, char *text)
{
	double node[NP_LAB_MAX_CPUS];
	int n = numbers(text, node, NP_LAB_MAX_CPUS);

	if (n < 1)
		return fail(p, "cpu_node needs the node of each of 1 to %d CPUs", NP_LAB_MAX_CPUS);
	for (int cpu = 0; cpu < n; cpu++) {
		if (!is_node(node[cpu]))
			return fail(p, "cpu_node: %g is not a node from 0 to %d", node[cpu],
				    NP_LAB_MAX_NODES - 1);
		c->cpu_node[cpu] = node[cpu];
	}
	c->cpus = n;
	return 0;
}

static int set_ram(const struct parser *p, struct np_config *c, const double *v)
{
	struct np_ram *r = &c->ram[c->n_ram];

	if (c->n_ram == NP_MAX_RAM)
		return fail(p, "more than %d memory ranges", NP_MAX_RAM);
	if (!is_node(v[0]) || v[1] >= v[2] || (uint64_t)v[1] % 4096 || (uint64_t)v[2] % 4096)
		return fail(p, "ram needs a node, and start < end in whole pages");
	*r = (struct np_ram) { .node = v[0], .start = v[1], .end = v[2] };
	if (c->n_ram && r->start < c->ram[c->n_ram - 1].end)
		return fail(p, "ram ranges must be sorted by address and not overlap");
	c->n_ram++;
	return 0;
}

static int set_core(const struct parser *p, struct np_config *c, const double *v)
{
	if (v[0] < 1 || v[0] > 1e5 || v[1] < 0.01 || v[1] > 16)
		return fail(p, "core needs 1 to 100000 MHz and 0.01 to 16 instructions a cycle");
	c->mhz = v[0];
	c->ipc = v[1];
	return 0;
}

static int set_line(const struct parser *p, struct np_config *c, const double *v)
{
	unsigned int shift = 4;

	while (shift < 8 && (1u << shift) != v[0])
		shift++;
	if ((1u << shift) != v[0])
		return fail(p, "line must be 16, 32, 64, 128 or 256 bytes");
	c->line_bytes = v[0];
	c->line_shift = shift;
	return 0;
}

static int set_cache(const struct parser *p, struct np_geometry *g, const double *v)
{
	if (v[0] < 4096 || v[0] > 1e9 || v[1] < 1 || v[1] > 64 || v[2] > 1e6)
		return fail(p, "a cache needs 4096 to 1e9 bytes, 1 to 64 ways and a latency");
	*g = (struct np_geometry) { .bytes = v[0], .ways = v[1], .latency_ns = v[2] };
	return 0;
}

static int set_l1(const struct parser *p, struct np_config *c, const double *v, int n)
{
	if (v[0] < 4096 || v[0] > 16 * 4096 || (uint64_t)v[0] % 4096)
		return fail(p, "l1 needs 4096 to 65536 bytes, in whole pages");
	c->l1 = (struct np_geometry) { .bytes = v[0],
				       .ways = v[0] / 4096,
				       .latency_ns = n > 1 ? v[1] : 0 };
	return 0;
}

static int set_tlb(const struct parser *p, struct np_config *c, const double *v)
{
	for (int i = 0; i < 4; i++)
		if (v[i] > NP_TLB_ENTRIES || v[i] != (unsigned int)v[i])
			return fail(p, "a TLB has up to %d entries", NP_TLB_ENTRIES);
	if (v[0] && !v[1])
		return fail(p, "a TLB has entries for large pages in its first level");
	for (int i = 0; i < 2; i++) {
		c->tlb.first[i] = v[i];
		c->tlb.second[i] = v[2 + i];
	}
	c->tlb.latency_ns = v[4];
	return 0;
}

static int set_times(const struct parser *p, uint64_t *ns, const double *v)
{
	if (v[0] < 100 || v[0] > 1e9)
		return fail(p, "a quantum and a window are 100 to 1e9 ns");
	*ns = v[0];
	return 0;
}

static int set_scale(const struct parser *p, struct np_config *c, const double *v)
{
	if (v[0] < 1 || v[0] > 64 || v[0] != (unsigned int)v[0])
		return fail(p, "a scale is 1 to 64");
	c->scale = v[0];
	return 0;
}

static int set_numbers(const struct parser *p, struct np_config *c, const char *key,
		       const double *v, int n)
{
	if (!strcmp(key, "ram") && n == 3)
		return set_ram(p, c, v);
	if (!strcmp(key, "core") && n == 2)
		return set_core(p, c, v);
	if (!strcmp(key, "line") && n == 1)
		return set_line(p, c, v);
	if (!strcmp(key, "l1") && (n == 1 || n == 2))
		return set_l1(p, c, v, n);
	if (!strcmp(key, "reorder") && n == 1) {
		c->reorder = v[0];
		return 0;
	}
	if (!strcmp(key, "l2") && n == 3)
		return set_cache(p, &c->l2, v);
	if (!strcmp(key, "llc") && n == 3)
		return set_cache(p, &c->llc, v);
	if (!strcmp(key, "llc_cpus") && n == 1) {
		c->llc_cpus = v[0];
		return 0;
	}
	if (!strcmp(key, "tlb") && n == 5)
		return set_tlb(p, c, v);
	if (!strcmp(key, "quantum") && n == 1)
		return set_times(p, &c->quantum_ns, v);
	if (!strcmp(key, "window") && n == 1)
		return set_times(p, &c->window_ns, v);
	if (!strcmp(key, "c2c") && n == 4) {
		c->c2c.node_ns = v[3];
		c->c2c.local_ns = v[0];
		c->c2c.remote_ns = v[1];
		c->c2c.remote_home_ns = v[2] ?: v[1];
		if (c->c2c.remote_home_ns < v[1] || (v[2] > 0 && !v[1]))
			return fail(
				p,
				"a line costs no less from a node that has not its memory, remote_home_ns, than remote_ns from one that has");
		return 0;
	}
	if (!strcmp(key, "scale") && n == 1)
		return set_scale(p, c, v);
	if (!strcmp(key, "start") && n == 1) {
		c->start_ns = v[0];
		return 0;
	}
	if (!strcmp(key, "counts") && n == 1) {
		c->counts = v[0];
		return 0;
	}
	if (!strcmp(key, "exact") && n == 1) {
		c->exact = v[0];
		return 0;
	}
	if (!strcmp(key, "follow") && n == 1) {
		c->follow = v[0];
		return 0;
	}
	if (!strcmp(key, "clock") && n == 1) {
		c->clock_alone = v[0];
		return 0;
	}
	return fail(p, "there is no setting '%s' with %d numbers", key, n);
}

static int set(const struct parser *p, struct np_config *c, const char *key, char *text)
{
	double v[MAX_NUMBERS];
	int n;

	if (!strcmp(key, "shared")) {
		snprintf(c->shared, sizeof(c->shared), "%s", text);
		return 0;
	}
	if (!strcmp(key, "profile")) {
		snprintf(c->profile, sizeof(c->profile), "%s", text);
		return 0;
	}
	if (!strcmp(key, "cpu_node"))
		return set_cpu_node(p, c, text);
	n = numbers(text, v, MAX_NUMBERS);
	return n < 0 ? fail(p, "%s: not up to %d numbers", key, MAX_NUMBERS) :
		       set_numbers(p, c, key, v, n);
}

/* Every node that has CPUs or memory here must have them in the model, too. */
static int check_nodes(const struct parser *p, const struct np_config *c)
{
	const struct np_model *m = &c->model;

	if (m->n_nodes < c->nodes)
		return fail(p, "there is no node line for node %zu", m->n_nodes);
	for (unsigned int cpu = 0; cpu < c->cpus; cpu++)
		if (!m->node[c->cpu_node[cpu]].core_outstanding)
			return fail(p, "node %u has CPUs and no core_outstanding",
				    c->cpu_node[cpu]);
	for (unsigned int i = 0; i < c->n_ram; i++)
		if (!m->node[c->ram[i].node].dram_bytes_per_s)
			return fail(p, "node %u has memory and no dram_bytes_per_s",
				    c->ram[i].node);
	return 0;
}

/* Last levels are numbered by node, then by their first CPU. */
static int number_last_levels(const struct parser *p, struct np_config *c)
{
	for (unsigned int node = 0; node < c->nodes; node++) {
		unsigned int n = 0;

		for (unsigned int cpu = 0; cpu < c->cpus; cpu++) {
			if (c->cpu_node[cpu] != node)
				continue;
			if (!n || (c->llc_cpus && n % c->llc_cpus == 0)) {
				if (c->llcs == NP_MAX_LLCS)
					return fail(p, "more than %d last levels", NP_MAX_LLCS);
				c->llc_node[c->llcs++] = node;
			}
			c->cpu_llc[cpu] = c->llcs - 1;
			n++;
		}
	}
	return 0;
}

static int finish(const struct parser *p, struct np_config *c)
{
	c->quantum_ns *= c->scale;
	c->window_ns *= c->scale;
	if (c->llc.bytes / c->line_bytes < c->llc.ways ||
	    (c->l2.bytes && c->l2.bytes / c->line_bytes < c->l2.ways))
		return fail(p, "a cache has fewer lines than ways");
	for (unsigned int cpu = 0; cpu < c->cpus; cpu++)
		c->nodes = c->cpu_node[cpu] >= c->nodes ? c->cpu_node[cpu] + 1 : c->nodes;
	for (unsigned int i = 0; i < c->n_ram; i++) {
		c->ram[i].first_line = c->lines;
		c->lines += (c->ram[i].end - c->ram[i].start) / c->line_bytes;
		c->nodes = c->ram[i].node >= c->nodes ? c->ram[i].node + 1 : c->nodes;
	}
	if (c->lines > UINT32_MAX / 2)
		return fail(p, "more memory than %u lines", UINT32_MAX / 2);
	return number_last_levels(p, c) ?: check_nodes(p, c);
}

static int check_present(const struct parser *p, const struct np_config *c)
{
	if (c->clock_alone && c->shared[0])
		return 0;
	if (!c->shared[0] || !c->cpus || !c->n_ram || !c->mhz || !c->line_bytes || !c->l1.bytes ||
	    !c->llc.bytes)
		return fail(p, "needs shared, cpu_node, ram, core, line, l1 and llc");
	return 0;
}

static bool is_model(const char *text)
{
	return !strncmp(text, "machine ", 8) || !strncmp(text, "node ", 5) ||
	       !strncmp(text, "link ", 5);
}

static int read_line(struct parser *p, struct np_config *c, char *text, FILE *model)
{
	char *value;

	p->line++;
	text[strcspn(text, "\n")] = '\0';
	/* An empty line for each that is not the model's keeps the model's line numbers right. */
	if (fprintf(model, "%s\n", is_model(text) ? text : "") < 0)
		return fail(p, "out of memory");
	if (text[0] == '#' || !text[0] || is_model(text))
		return 0;
	value = strchr(text, '=');
	if (!value)
		return fail(p, "'%s' is not key=value", text);
	*value = '\0';
	return set(p, c, text, value + 1);
}

static int read_lines(struct parser *p, struct np_config *c, FILE *f)
{
	char text[4400], why[256], *model = NULL;
	size_t size;
	FILE *collected = open_memstream(&model, &size);
	int ret = collected ? 0 : fail(p, "out of memory");

	while (!ret && fgets(text, sizeof(text), f))
		ret = read_line(p, c, text, collected);
	if (collected)
		fclose(collected);
	p->line = 0;
	ret = ret ?: check_present(p, c);
	if (!ret && !c->clock_alone && np_model_parse(&c->model, model, why, sizeof(why)))
		ret = fail(p, "%s", why);
	free(model);
	return ret;
}

int np_config_read(const char *path, struct np_config *c, char *err, size_t err_len)
{
	struct parser p = { .path = path, .err = err, .err_len = err_len };
	FILE *f = fopen(path, "re");
	int ret;

	if (!f)
		return fail(&p, "cannot read the configuration: %s", strerror(errno));
	*c = (struct np_config) {
		.quantum_ns = 20000, .window_ns = 100000, .scale = 1, .reorder = 128
	};
	ret = read_lines(&p, c, f);
	fclose(f);
	return ret || c->clock_alone ? ret : finish(&p, c);
}
