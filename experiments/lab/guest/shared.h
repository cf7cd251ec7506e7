/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory that QEMU's plugin writes and the guest's module reads: a file on the
 * host, the second BAR of an ivshmem device in the guest.
 *
 * Every word has one writer and is read and written in one access. `sequence`
 * protects the totals of a CPU as in a seqlock: it is odd while they change, and a
 * reader that finds the same even number before and after them has a consistent copy.
 */
#ifndef NP_LAB_SHARED_H
#define NP_LAB_SHARED_H

#include <linux/types.h>

#define NP_LAB_MAGIC	   0x62616c2d616d756eULL /* "numa-lab" */
#define NP_LAB_VERSION	   5
#define NP_LAB_MAX_NODES   32
#define NP_LAB_MAX_CPUS	   256
#define NP_LAB_SHARED_SIZE (1 << 20)

/*
 * nopl 0x6e7000NN(%rax), instructions that do nothing and that no compiler makes: what the guest
 * tells the plugin. RAX and RCX are the operands.
 */
#define NP_LAB_MARKER(number) 0x0f, 0x1f, 0x80, number, 0x00, 0x70, 0x6e

#define NP_LAB_START_ENDS   0x01 /* no operands: the untimed start ends */
#define NP_LAB_REGION_BEGIN 0x02 /* a name's address and bytes: the process enters it */
#define NP_LAB_REGION_END   0x03 /* the same: it leaves it */
#define NP_LAB_SWITCH	    0x04 /* tgid << 32 | tid, and a cgroup's number: the CPU's new task */
#define NP_LAB_NOTE	    0x05 /* a line's address and bytes: for the reader of the profile */
#define NP_LAB_MARKERS	    0x06

/* Totals since the machine was switched on, as Documentation/reference/lab.md describes them. */
#define NP_LAB_COUNTERS(X) \
	X(instructions) \
	X(cycles) \
	X(llc_references) \
	X(llc_misses) \
	X(local_dram) \
	X(remote_dram) \
	X(remote_cache) \
	X(sim_ns) \
	X(stall_ns) \
	X(dram_writes)
#define NP_LAB_MEMBER(name) __u64 name;
#define NP_LAB_NAME(name)   #name " "

struct np_lab_cpu {
	NP_LAB_COUNTERS(NP_LAB_MEMBER)
	__u64 dram[NP_LAB_MAX_NODES]; /* lines read, by node */
	__u64 sequence;
	__u64 reserved[5];
};

struct np_lab_shared {
	__u64 magic;
	__u32 version;
	__u32 cpus;
	__u32 nodes;
	__u32 line_bytes;
	__u64 now_ns;	    /* the guest's clock: how far the most advanced CPU is */
	char counters[224]; /* the names of np_lab_cpu's first words, in their order */
	struct np_lab_cpu cpu[NP_LAB_MAX_CPUS];
};

#endif
