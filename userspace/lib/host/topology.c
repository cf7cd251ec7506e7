// SPDX-License-Identifier: GPL-2.0-only
#include "topology.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/cpulist.h"
#include "../base/error.h"
#include "proc.h"

#define NODES "/sys/devices/system/node"
#define MB    1e6 /* as the kernel gives bandwidths */

#define LOCAL_DISTANCE 10 /* by ACPI's SLIT */

/* Reads root/NODES/name, or NULL. */
static char *read_node_file(const char *root, const char *format, int node)
{
	char name[64];

	snprintf(name, sizeof(name), format, node);
	return np_read_file_of("%s" NODES "/%s", root, name);
}

/* The list in a file as a mask; an absent file gives an empty mask. */
static int read_list(const char *root, const char *format, int node, struct bitmask *mask)
{
	char *text = read_node_file(root, format, node);
	int r;

	numa_bitmask_clearall(mask);
	if (!text)
		return 0;
	r = np_list_parse_kernel(text, mask);
	free(text);
	return r;
}

/* A number of the node's memory as its nearest initiators see it; 0: firmware does not say. */
static double read_performance(const char *root, const char *format, int node)
{
	char *text = read_node_file(root, format, node);
	double value = text ? strtod(text, NULL) : 0;

	free(text);
	return isfinite(value) && value > 0 ? value : 0;
}

static int read_memory(struct np_node *node, const char *root, const struct bitmask *has_memory)
{
	char *text = read_node_file(root, "node%d/meminfo", node->id);

	node->mem_total = np_proc_bytes(text, "MemTotal:");
	node->mem_free = np_proc_bytes(text, "MemFree:");
	free(text);
	node->bandwidth = MB * read_performance(root, "node%d/access0/initiators/read_bandwidth",
						node->id);
	node->latency_ns = read_performance(root, "node%d/access0/initiators/read_latency",
					    node->id);
	node->has_memory = node->mem_total > 0;
	if (numa_bitmask_weight(has_memory))
		node->has_memory = numa_bitmask_isbitset(has_memory, (unsigned int)node->id);
	return 0;
}

static int read_cpus(struct np_machine *m, size_t index, const char *root)
{
	struct bitmask *cpus = numa_bitmask_alloc(NP_MAX_CPUS);
	int r = read_list(root, "node%d/cpulist", m->node[index].id, cpus);

	for (unsigned int cpu = 0; !r && cpu < NP_MAX_CPUS; cpu++) {
		if (!numa_bitmask_isbitset(cpus, cpu))
			continue;
		if (m->cpu_node[cpu] == NP_NODE_NONE)
			m->cpu_node[cpu] = (int)index;
		else
			m->node[index].same_cpus = 1 + (size_t)m->cpu_node[cpu];
		m->node[index].cpus++;
		if (cpu >= m->n_cpus)
			m->n_cpus = cpu + 1;
	}
	numa_bitmask_free(cpus);
	return r;
}

/* One row of the distance table: as many numbers as there are online nodes. One node needs none. */
static int read_distances(struct np_machine *m, size_t index, const char *root)
{
	char *text, *p, *end;
	size_t i;

	m->distance[0] = LOCAL_DISTANCE;
	if (m->n_nodes == 1)
		return 0;
	text = p = read_node_file(root, "node%d/distance", m->node[index].id);

	for (i = 0; text && i < m->n_nodes; i++, p = end) {
		long d = strtol(p, &end, 10);

		if (end == p || d < 1 || d > 255)
			break;
		m->distance[index * m->n_nodes + i] = (int)d;
	}
	free(text);
	return i == m->n_nodes ? 0 : -EINVAL;
}

static int allocate(struct np_machine *m, const struct bitmask *online)
{
	size_t n = numa_bitmask_weight(online), at = 0;

	m->node = calloc(n, sizeof(*m->node));
	m->distance = calloc(n * n, sizeof(*m->distance));
	m->cpu_node = malloc(NP_MAX_CPUS * sizeof(*m->cpu_node));
	if (!m->node || !m->distance || !m->cpu_node)
		return -ENOMEM;
	m->n_nodes = n;
	for (unsigned int id = 0; id < online->size; id++)
		if (numa_bitmask_isbitset(online, id))
			m->node[at++].id = (int)id;
	for (size_t cpu = 0; cpu < NP_MAX_CPUS; cpu++)
		m->cpu_node[cpu] = NP_NODE_NONE;
	return 0;
}

static int read_nodes(struct np_machine *m, const char *root, struct np_err *err)
{
	struct bitmask *has_memory = numa_bitmask_alloc(NP_MAX_NODES);
	int r = read_list(root, "has_memory", 0, has_memory);

	for (size_t i = 0; !r && i < m->n_nodes; i++) {
		const char *what = "meminfo";

		r = read_memory(&m->node[i], root, has_memory);
		if (!r && (r = read_cpus(m, i, root)))
			what = "cpulist";
		if (!r && (r = read_distances(m, i, root)))
			what = "distance";
		if (r)
			np_fail(err, r, "%s" NODES "/node%d/%s is missing or malformed", root,
				m->node[i].id, what);
	}
	numa_bitmask_free(has_memory);
	return r;
}

/* What `lab run --set` has changed: the machine is not the one that its file describes. */
static void add_changes(struct np_machine *m, const char *cmdline)
{
	const char *set = strstr(cmdline, "numaplace_lab_set=");
	size_t n = strlen(m->name);

	if (!set)
		return;
	set += strlen("numaplace_lab_set=");
	snprintf(m->name + n, sizeof(m->name) - n, "+%.*s", (int)strcspn(set, " \n"), set);
}

/* The lab's name for this machine, else the host's. */
static void read_name(struct np_machine *m, const char *root)
{
	char *text = np_read_file_of("%s/proc/cmdline", root), *lab;

	lab = text ? strstr(text, "numaplace_lab=") : NULL;
	if (lab) {
		snprintf(m->name, sizeof(m->name), "%s", lab + strlen("numaplace_lab="));
		m->name[strcspn(m->name, ", \n")] = '\0';
		add_changes(m, text);
	} else {
		free(text);
		text = np_read_file_of("%s/proc/sys/kernel/hostname", root);
		snprintf(m->name, sizeof(m->name), "%.63s", text ? text : "unnamed");
		m->name[strcspn(m->name, "\n")] = '\0';
	}
	free(text);
}

int np_machine_read(struct np_machine *m, const char *root, struct np_err *err)
{
	struct bitmask *online = numa_bitmask_alloc(NP_MAX_NODES);
	int r;

	memset(m, 0, sizeof(*m));
	m->page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	read_name(m, root);
	r = read_list(root, "online", 0, online);
	if (!r && numa_bitmask_weight(online) == 0)
		r = -ENOENT;
	if (r)
		np_fail(err, r, "%s" NODES "/online names no node; this kernel has no CONFIG_NUMA",
			root);
	else if ((r = allocate(m, online)))
		np_fail(err, r, "out of memory");
	else
		r = read_nodes(m, root, err);
	numa_bitmask_free(online);
	if (r)
		np_machine_free(m);
	return r;
}

void np_machine_free(struct np_machine *m)
{
	free(m->node);
	free(m->distance);
	free(m->cpu_node);
	memset(m, 0, sizeof(*m));
}

enum np_platform np_machine_platform(const char *root)
{
	enum np_platform platform = NP_PLATFORM_REAL;
	char *text = np_read_file_of("%s/proc/cmdline", root), *lab;

	lab = text ? strstr(text, "numaplace_lab=") : NULL;
	if (lab) {
		lab[strcspn(lab, " \n")] = '\0';
		platform = strstr(lab, ",functional") ? NP_PLATFORM_LAB_FUNCTIONAL :
							NP_PLATFORM_LAB_TIMED;
	}
	free(text);
	return platform;
}

static const char *const platform_name[] = {
	[NP_PLATFORM_REAL] = "real",
	[NP_PLATFORM_LAB_FUNCTIONAL] = "lab-functional",
	[NP_PLATFORM_LAB_TIMED] = "lab-timed",
};

const char *np_platform_name(enum np_platform platform)
{
	return platform_name[platform];
}

bool np_platform_find(const char *name, enum np_platform *platform)
{
	for (size_t i = 0; i < sizeof(platform_name) / sizeof(platform_name[0]); i++) {
		if (!strcmp(name, platform_name[i])) {
			*platform = (enum np_platform)i;
			return true;
		}
	}
	return false;
}

int np_machine_node_of_text(const struct np_machine *m, const char *text)
{
	for (size_t i = 0; i < m->n_nodes; i++) {
		char id[16];

		snprintf(id, sizeof(id), "%d", m->node[i].id);
		if (!strcmp(id, text))
			return (int)i;
	}
	return NP_NODE_NONE;
}

int np_machine_node_index(const struct np_machine *m, long long id)
{
	for (size_t i = 0; i < m->n_nodes; i++)
		if (m->node[i].id == id)
			return (int)i;
	return NP_NODE_NONE;
}

int np_machine_node_of_cpus(const struct np_machine *m, const struct bitmask *cpus)
{
	int node = NP_NODE_NONE;

	for (unsigned int cpu = 0; cpu < m->n_cpus && cpu < cpus->size; cpu++) {
		if (!numa_bitmask_isbitset(cpus, cpu) || m->cpu_node[cpu] == NP_NODE_NONE)
			continue;
		if (node != NP_NODE_NONE && node != m->cpu_node[cpu])
			return NP_NODE_NONE;
		node = m->cpu_node[cpu];
	}
	return node;
}

struct bitmask *np_machine_nodes(const struct np_machine *m)
{
	struct bitmask *mask = numa_bitmask_alloc(NP_MAX_NODES);

	for (size_t i = 0; i < m->n_nodes; i++)
		numa_bitmask_setbit(mask, (unsigned int)m->node[i].id);
	return mask;
}

struct bitmask *np_machine_memory_nodes(const struct np_machine *m)
{
	struct bitmask *mask = numa_bitmask_alloc(NP_MAX_NODES);

	for (size_t i = 0; i < m->n_nodes; i++)
		if (m->node[i].has_memory)
			numa_bitmask_setbit(mask, (unsigned int)m->node[i].id);
	return mask;
}

struct bitmask *np_machine_cpus(const struct np_machine *m)
{
	struct bitmask *mask = numa_bitmask_alloc(NP_MAX_CPUS);

	for (unsigned int cpu = 0; cpu < m->n_cpus; cpu++)
		if (m->cpu_node[cpu] != NP_NODE_NONE)
			numa_bitmask_setbit(mask, cpu);
	return mask;
}

static void add_cpus(const struct np_machine *m, size_t index, struct bitmask *mask)
{
	size_t first = m->node[index].same_cpus ? m->node[index].same_cpus - 1 : index;

	for (unsigned int cpu = 0; cpu < m->n_cpus; cpu++)
		if (m->cpu_node[cpu] == (int)first)
			numa_bitmask_setbit(mask, cpu);
}

struct bitmask *np_machine_cpus_of_node(const struct np_machine *m, int index)
{
	struct bitmask *mask = numa_bitmask_alloc(NP_MAX_CPUS);

	add_cpus(m, (size_t)index, mask);
	return mask;
}

struct bitmask *np_machine_cpus_of_nodes(const struct np_machine *m, const struct bitmask *nodes)
{
	struct bitmask *mask = numa_bitmask_alloc(NP_MAX_CPUS);

	for (size_t i = 0; i < m->n_nodes; i++)
		if (numa_bitmask_isbitset(nodes, (unsigned int)m->node[i].id))
			add_cpus(m, i, mask);
	return mask;
}
