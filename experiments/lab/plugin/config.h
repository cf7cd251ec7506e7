/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The machine to simulate, from a file of `key=value ...` lines. The lab writes it: what
 * `numaplace machine --plugin` prints of a machine file, and the rest. '#' begins a comment.
 *
 *   shared=PATH                      memory shared with the guest
 *   cpu_node=0,0,1,1                 node of every CPU
 *   ram=NODE START END               address range of a node's memory, once or more per node
 *   core=MHZ IPC                     speed without misses
 *   scale=S                          the machine has 1/S of its speed: the plugin's own times are S times as long, too
 *   line=BYTES
 *   l1=BYTES LATENCY_NS              of each CPU, virtually indexed; the latency is that of a load whose address a load brings
 *   reorder=N                        instructions that a core begins after a load that is on its way
 *   l2=BYTES WAYS LATENCY_NS         of each CPU; may be left out
 *   llc=BYTES WAYS LATENCY_NS        of each node, or of
 *   llc_cpus=N                       so many of its CPUs, in their order
 *   tlb=FIRST HUGE SECOND HUGE LATENCY_NS  entries of each CPU's two levels, for 4 KiB pages and for larger ones: as
 *                                    many in the second are the same for both, 0: none; the latency is the
 *                                    second's; without this line translations take no time
 *   c2c=LOCAL REMOTE HOME NODE        ns of a line that another core has modified: of the same last level; of
 *                                    another node, which has its memory; of one that has not; of another last
 *                                    level of the node; 0: no cost of its own
 *   machine .. , node N .. , link A B ..   lines of the contention model (policies/model/model.h)
 *   quantum=NS                       how far apart the CPUs' clocks may be
 *   window=NS                        over which traffic is counted
 *   counts=1                         accesses are counted and take no time
 *   clock=1                          nothing is simulated, but for time, which is skipped while all CPUs
 *                                    are halted; beside shared and start there is no other line
 *   follow=1                         time follows the host's while all CPUs are halted: the guest has an input to wait for
 *   profile=PATH                     where to write who uses memory (profile.h)
 *   exact=1                          one thread of QEMU's runs all CPUs, and nothing depends on the host's time
 *   start=NS                         where the guest's clock begins; 0 unless an earlier run goes on
 */
#ifndef NP_CONFIG_H
#define NP_CONFIG_H

#include "../guest/shared.h"
#include "../../../policies/model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NP_MAX_LLCS 32 /* what a state of the directory can name */
#define NP_MAX_RAM  64

struct np_ram {
	unsigned int node;
	uint64_t start, end; /* guest physical, end excluded */
	uint64_t first_line; /* running number of its first line */
};

struct np_geometry {
	uint64_t bytes;
	unsigned int ways;
	double latency_ns;
};

struct np_config {
	char shared[4096], profile[4096];
	unsigned int cpus, nodes;
	unsigned int cpu_node[NP_LAB_MAX_CPUS];
	unsigned int llcs, llc_cpus; /* last levels; CPUs of each at most, 0: all of its node */
	uint8_t cpu_llc[NP_LAB_MAX_CPUS], llc_node[NP_MAX_LLCS];
	unsigned int n_ram;
	struct np_ram ram[NP_MAX_RAM]; /* sorted by address */
	uint64_t lines;		       /* of all memory */
	double mhz, ipc;
	unsigned int line_bytes, line_shift;
	struct np_geometry l1, l2, llc; /* l2.bytes is 0 without one */
	struct {
		unsigned int first[2], second[2]; /* entries, of 4 KiB pages and of larger ones */
		double latency_ns;		  /* of the second level */
	} tlb;
	struct {
		double local_ns, remote_ns, remote_home_ns, node_ns; /* 0: no cost of its own */
	} c2c;
	struct np_model model;
	uint64_t quantum_ns, window_ns, start_ns;
	unsigned int scale, reorder; /* instructions that a core begins after one that waits */
	bool exact, counts, clock_alone, follow;
};

/* Returns 0, or -1 with one line in err that says where and why. */
int np_config_read(const char *path, struct np_config *c, char *err, size_t err_len);

/* The node of a guest physical address, or -1; *line is the line's running number. */
static inline int np_config_node(const struct np_config *c, uint64_t address, uint64_t *line)
{
	for (unsigned int i = 0; i < c->n_ram; i++) {
		const struct np_ram *r = &c->ram[i];

		if (address < r->start || address >= r->end)
			continue;
		*line = r->first_line + ((address - r->start) >> c->line_shift);
		return r->node;
	}
	return -1;
}

/*
 * What a line costs that a cache of another node has modified, ns: as the file says, or what it takes
 * from a core of the node, or else from the last level, and the link.
 */
static inline double np_config_remote_ns(const struct np_config *c, unsigned int reader,
					 unsigned int owner)
{
	double near = c->c2c.local_ns > 0 ? c->c2c.local_ns : c->model.node[owner].cache_latency_ns;

	return c->c2c.remote_ns > 0 ? c->c2c.remote_ns : near + c->model.link_ns[reader][owner];
}

/* And what is added to that where the line's memory is not the owner's. */
static inline double np_config_home_ns(const struct np_config *c)
{
	return c->c2c.remote_home_ns - c->c2c.remote_ns;
}

/* The node of a line by its running number. */
static inline unsigned int np_config_line_node(const struct np_config *c, uint64_t line)
{
	unsigned int i = c->n_ram - 1;

	while (i && line < c->ram[i].first_line)
		i--;
	return c->ram[i].node;
}

#endif
