// SPDX-License-Identifier: GPL-2.0-only
#include "runtime.h"

#include <latch>
#include <tbb/task_group.h>

namespace {

thread_local cpu_set_t bound; /* of a worker; empty: nowhere yet */

int all_cpus(const std::vector<Node> &nodes)
{
	int sum = 0;

	for (const Node &node : nodes)
		sum += node.cpus.size();
	return sum;
}

cpu_set_t set_of(const Node &node)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (int cpu : node.cpus)
		CPU_SET(cpu, &set);
	return set;
}

}

Binding::Binding(tbb::task_arena &arena, const cpu_set_t &cpus)
    : tbb::task_scheduler_observer(arena), cpus(cpus)
{
	observe(true);
}

void Binding::on_scheduler_entry(bool worker)
{
	if (!worker || CPU_EQUAL(&bound, &cpus))
		return;
	sched_setaffinity(0, sizeof(cpus), &cpus);
	bound = cpus;
}

void Runtime::add_arena(int workers, bool with_caller, const cpu_set_t &cpus)
{
	arenas.push_back(std::make_unique<tbb::task_arena>(workers, with_caller));
	bindings.push_back(std::make_unique<Binding>(*arenas.back(), cpus));
}

Runtime::Runtime(const std::vector<Node> &nodes, bool locality, int workers)
    : count(nodes.size()), limit(tbb::global_control::max_allowed_parallelism, workers)
{
	sched_getaffinity(0, sizeof(caller), &caller);
	const cpu_set_t first = set_of(nodes[0]);

	if (!locality || workers < all_cpus(nodes) || nodes.size() < 2) {
		add_arena(workers, true, caller);
		if (workers == 1) /* or its time depends on where the scheduler left it */
			sched_setaffinity(0, sizeof(first), &first);
		return;
	}
	for (const Node &node : nodes)
		add_arena(node.cpus.size(), arenas.empty(), set_of(node));
	sched_setaffinity(0, sizeof(first), &first);
}

Runtime::~Runtime()
{
	sched_setaffinity(0, sizeof(caller), &caller);
}

void Runtime::each_part(const std::function<void(int part)> &work)
{
	const auto others = std::make_shared<std::latch>(
		arenas.size() - 1); /* the last to count may outlive the wait */

	for (size_t k = 1; k < arenas.size(); k++)
		arenas[k]->enqueue([&work, others, k] {
			work(k);
			others->count_down();
		});
	arenas[0]->execute([&] {
		tbb::task_group group;

		for (int part = 0; part < (is_local() ? 1 : count); part++)
			group.run([&work, part] { work(part); });
		group.wait();
	});
	others->wait();
}
