/* SPDX-License-Identifier: GPL-2.0-only */
/* The tracepoints numaplace:*, described in Documentation/ABI/tracepoints-numaplace. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM numaplace

#if !defined(_NUMAPLACE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _NUMAPLACE_TRACE_H

#include <linux/cpumask.h>
#include <linux/mempolicy.h>
#include <linux/sched.h>
#include <linux/tracepoint.h>

#include "batch.h"
#include "move.h"

TRACE_EVENT(move_begin,
	TP_PROTO(pid_t pid, const struct numaplace_move_request *request),
	TP_ARGS(pid, request),
	TP_STRUCT__entry(
		__field(pid_t, pid)
		__field(int, to)
		__field(u64, start)
		__field(u64, end)
	),
	TP_fast_assign(
		__entry->pid = pid;
		__entry->to = request->to;
		__entry->start = request->start;
		__entry->end = request->end;
	),
	TP_printk("pid=%d to=%d start=0x%llx end=0x%llx", __entry->pid, __entry->to,
		  __entry->start, __entry->end)
);

TRACE_EVENT(move_end,
	TP_PROTO(pid_t pid, const struct numaplace_move_result *result),
	TP_ARGS(pid, result),
	TP_STRUCT__entry(
		__field(pid_t, pid)
		__field(int, error)
		__field(u64, moved)
		__field(u64, bytes)
		__field(u64, ns)
		__field(u64, unmapped_ns)
	),
	TP_fast_assign(
		__entry->pid = pid;
		__entry->error = result->error;
		__entry->moved = result->counts.status[NUMAPLACE_PAGE_moved];
		__entry->bytes = numaplace_stats_bytes(&result->counts);
		__entry->ns = result->ns;
		__entry->unmapped_ns = result->unmapped_ns;
	),
	TP_printk("pid=%d error=%d moved=%llu bytes=%llu ns=%llu unmapped_ns=%llu", __entry->pid,
		  __entry->error, __entry->moved, __entry->bytes, __entry->ns,
		  __entry->unmapped_ns)
);

#define NUMAPLACE_TRACE_FIELD(name)  __field(u64, name)
#define NUMAPLACE_TRACE_ASSIGN(name) __entry->name = batch->counts.status[NUMAPLACE_PAGE_##name];
#define NUMAPLACE_TRACE_FORMAT(name) " " #name "=%llu"
#define NUMAPLACE_TRACE_VALUE(name)  __entry->name,

TRACE_EVENT(batch,
	TP_PROTO(pid_t pid, const struct numaplace_batch *batch),
	TP_ARGS(pid, batch),
	TP_STRUCT__entry(
		__field(pid_t, pid)
		__field(int, to)
		__field(u64, start)
		__field(unsigned int, pages)
		NUMAPLACE_COUNTS(NUMAPLACE_TRACE_FIELD)
		__field(u64, bytes)
		__field(u64, setup_ns)
		__field(u64, copy_ns)
		__field(u64, finish_ns)
		__field(u64, unmapped_ns)
	),
	TP_fast_assign(
		__entry->pid = pid;
		__entry->to = batch->to;
		__entry->start = batch->start;
		__entry->pages = batch->n;
		NUMAPLACE_COUNTS(NUMAPLACE_TRACE_ASSIGN)
		__entry->bytes = numaplace_stats_bytes(&batch->counts);
		__entry->setup_ns = batch->setup_ns;
		__entry->copy_ns = batch->copy_ns;
		__entry->finish_ns = batch->finish_ns;
		__entry->unmapped_ns = batch->unmapped_ns;
	),
	TP_printk("pid=%d to=%d start=0x%llx pages=%u"
		  NUMAPLACE_COUNTS(NUMAPLACE_TRACE_FORMAT)
		  " bytes=%llu setup_ns=%llu copy_ns=%llu finish_ns=%llu unmapped_ns=%llu",
		  __entry->pid, __entry->to, __entry->start, __entry->pages,
		  NUMAPLACE_COUNTS(NUMAPLACE_TRACE_VALUE)
		  __entry->bytes, __entry->setup_ns, __entry->copy_ns, __entry->finish_ns,
		  __entry->unmapped_ns)
);

TRACE_EVENT(place,
	TP_PROTO(struct task_struct *task, const struct cpumask *cpus, int error),
	TP_ARGS(task, cpus, error),
	TP_STRUCT__entry(
		__field(pid_t, tid)
		__field(pid_t, pid)
		__field(unsigned int, cpus)
		__field(unsigned int, first_cpu)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->tid = task->pid;
		__entry->pid = task->tgid;
		__entry->cpus = cpumask_weight(cpus);
		__entry->first_cpu = cpumask_first(cpus);
		__entry->error = error;
	),
	TP_printk("tid=%d pid=%d cpus=%u first_cpu=%u error=%d", __entry->tid, __entry->pid,
		  __entry->cpus, __entry->first_cpu, __entry->error)
);

TRACE_EVENT(policy,
	TP_PROTO(struct task_struct *task, const struct mempolicy *policy, int error),
	TP_ARGS(task, policy, error),
	TP_STRUCT__entry(
		__field(pid_t, tid)
		__field(pid_t, pid)
		__field(unsigned int, mode)
		__field(unsigned int, nodes)
		__field(int, first_node)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->tid = task->pid;
		__entry->pid = task->tgid;
		__entry->mode = policy ? policy->mode : MPOL_DEFAULT;
		__entry->nodes = 0;
		__entry->first_node = NUMA_NO_NODE;
		/* The kernel leaves the nodes of this one as the memory was. */
		if (policy && policy->mode != MPOL_LOCAL && !nodes_empty(policy->nodes)) {
			__entry->nodes = nodes_weight(policy->nodes);
			__entry->first_node = first_node(policy->nodes);
		}
		__entry->error = error;
	),
	TP_printk("tid=%d pid=%d mode=%u nodes=%u first_node=%d error=%d", __entry->tid,
		  __entry->pid, __entry->mode, __entry->nodes, __entry->first_node,
		  __entry->error)
);

TRACE_EVENT(restore,
	TP_PROTO(struct task_struct *task, bool kept, int error),
	TP_ARGS(task, kept, error),
	TP_STRUCT__entry(
		__field(pid_t, tid)
		__field(pid_t, pid)
		__field(bool, kept)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->tid = task->pid;
		__entry->pid = task->tgid;
		__entry->kept = kept;
		__entry->error = error;
	),
	TP_printk("tid=%d pid=%d kept=%d error=%d", __entry->tid, __entry->pid, __entry->kept,
		  __entry->error)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
