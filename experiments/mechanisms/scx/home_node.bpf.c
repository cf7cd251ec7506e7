// SPDX-License-Identifier: GPL-2.0-only
/*
 * A small NUMA-aware scheduler for sched_ext. A task's home is the node that the map says of its process, else the one on which
 * it ran last: NUMA balancing, which would prefer a node, does not look at tasks of sched_ext. A task goes to an idle CPU of
 * its home, and waits in its home's queue if there is none; a CPU takes from the queues of other nodes only when that of its
 * own is empty.
 *
 * The few declarations that it needs of the kernel are here, so that it is built without the kernel's headers. Members are
 * found by name when it is loaded.
 */
typedef int s32;
typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))
#define KSYM	  __attribute__((section(".ksyms")))

struct cpumask {
	unsigned long bits[1];
};

struct task_struct {
	const struct cpumask *cpus_ptr;
	/* For its type alone: one that is pointed to only has no members, and does not match the kernel's. */
	struct cpumask cpus_mask;
	int tgid;
} __attribute__((preserve_access_index));

struct sched_ext_ops {
	s32 (*select_cpu)(struct task_struct *p, s32 prev_cpu, u64 wake_flags);
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	s32 (*init)(void);
	u64 flags;
	u32 timeout_ms;
	char name[128];
};

/* kernel/sched/ext_internal.h, include/linux/sched/ext.h */
#define SCX_OPS_BUILTIN_IDLE_PER_NODE (1ULL << 6)
#define SCX_PICK_IDLE_IN_NODE	      (1ULL << 1)
#define SCX_KICK_IDLE		      (1ULL << 0)
#define SCX_DSQ_LOCAL		      (1ULL << 63 | 2)
#define SCX_DSQ_LOCAL_ON	      (1ULL << 63 | 1ULL << 62) /* of the CPU in the lower bits */
#define SCX_SLICE_DFL		      20000000ULL		/* ns */

#define MOST_NODES 64

/* Node by process. libbpf pins it by its name in /sys/fs/bpf, where experiments/mechanisms/sched_ext.py fills it. */
struct {
	int (*type)[1];	   /* BPF_MAP_TYPE_HASH */
	int (*pinning)[1]; /* LIBBPF_PIN_BY_NAME */
	int (*max_entries)[16384];
	s32 *key;
	s32 *value;
} numaplace_homes SEC(".maps");

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;

extern s32 scx_bpf_create_dsq(u64 dsq_id, s32 node) KSYM;
extern void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags) KSYM;
extern _Bool scx_bpf_dsq_move_to_local(u64 dsq_id) KSYM;
extern s32 scx_bpf_task_cpu(const struct task_struct *p) KSYM;
extern s32 scx_bpf_cpu_node(s32 cpu) KSYM;
extern s32 scx_bpf_pick_idle_cpu_node(const struct cpumask *allowed, s32 node, u64 flags) KSYM;
extern void scx_bpf_kick_cpu(s32 cpu, u64 flags) KSYM;
extern u32 scx_bpf_nr_node_ids(void) KSYM;

static s32 home_of(struct task_struct *p)
{
	s32 process = p->tgid, *home = bpf_map_lookup_elem(&numaplace_homes, &process), node;

	node = home ? *home : scx_bpf_cpu_node(scx_bpf_task_cpu(p));
	return node < 0 || node >= MOST_NODES ? 0 : node;
}

static s32 idle_at(struct task_struct *p, s32 node)
{
	return scx_bpf_pick_idle_cpu_node(p->cpus_ptr, node, SCX_PICK_IDLE_IN_NODE);
}

SEC("struct_ops/select_cpu")
s32 select_cpu(u64 *ctx)
{
	struct task_struct *p = (struct task_struct *)ctx[0];
	s32 cpu = idle_at(p, home_of(p));

	if (cpu < 0)
		return (s32)ctx[1];
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, 0);
	return cpu;
}

/* A task at the end of its slice goes home too. */
SEC("struct_ops/enqueue")
void enqueue(u64 *ctx)
{
	struct task_struct *p = (struct task_struct *)ctx[0];
	s32 home = home_of(p), cpu = idle_at(p, home);

	if (cpu < 0) {
		scx_bpf_dsq_insert(p, (u64)home, SCX_SLICE_DFL, ctx[1]);
		return;
	}
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL_ON | (u64)cpu, SCX_SLICE_DFL, ctx[1]);
	scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

SEC("struct_ops/dispatch")
void dispatch(u64 *ctx)
{
	s32 own = scx_bpf_cpu_node((s32)ctx[0]);
	u32 nodes = scx_bpf_nr_node_ids();

	if (scx_bpf_dsq_move_to_local((u64)own))
		return;
	for (u32 k = 1; k < MOST_NODES && k < nodes; k++)
		if (scx_bpf_dsq_move_to_local(((u32)own + k) % nodes))
			return;
}

SEC("struct_ops.s/init")
s32 init(u64 *ctx)
{
	u32 nodes = scx_bpf_nr_node_ids();
	s32 err = 0;

	for (u32 node = 0; !err && node < MOST_NODES && node < nodes; node++)
		err = scx_bpf_create_dsq(node, -1);
	return err;
}

SEC(".struct_ops.link")
struct sched_ext_ops home_node = {
	.select_cpu = (void *)select_cpu,
	.enqueue = (void *)enqueue,
	.dispatch = (void *)dispatch,
	.init = (void *)init,
	.flags = SCX_OPS_BUILTIN_IDLE_PER_NODE,
	.timeout_ms = 5000,
	.name = "home_node",
};

char terms[] SEC("license") = "GPL";
