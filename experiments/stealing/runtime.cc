// SPDX-License-Identifier: GPL-2.0-only
#include "runtime.h"

#include <tbb/task_group.h>

namespace {

thread_local cpu_set_t outside;

int all_cpus(const std::vector<Node> &nodes)
{
	int sum = 0;

	for (const Node &node : nodes)
		sum += node.cpus.size();
	return sum;
}

}

Binding::Binding(tbb::task_arena &arena, const std::vector<int> &cpus)
	: tbb::task_scheduler_observer(arena)
{
	CPU_ZERO(&inside);
	for (int cpu : cpus)
		CPU_SET(cpu, &inside);
	observe(true);
}

void Binding::on_scheduler_entry(bool)
{
	sched_getaffinity(0, sizeof(outside), &outside);
	sched_setaffinity(0, sizeof(inside), &inside);
}

void Binding::on_scheduler_exit(bool)
{
	sched_setaffinity(0, sizeof(outside), &outside);
}

Runtime::Runtime(const std::vector<Node> &nodes, bool locality, int workers)
	: count(nodes.size()), limit(tbb::global_control::max_allowed_parallelism, workers)
{
	if (!locality || workers < all_cpus(nodes) || nodes.size() < 2) {
		arenas.push_back(std::make_unique<tbb::task_arena>(workers));
		return;
	}
	for (const Node &node : nodes) {
		arenas.push_back(std::make_unique<tbb::task_arena>(node.cpus.size()));
		bindings.push_back(std::make_unique<Binding>(*arenas.back(), node.cpus));
	}
}

void Runtime::each_part(const std::function<void(int part)> &work)
{
	std::vector<tbb::task_group> groups(arenas.size());

	for (int part = 0; part < count; part++) {
		int k = part % arenas.size();

		arenas[k]->execute([&, part, k] { groups[k].run([&work, part] { work(part); }); });
	}
	for (size_t k = 0; k < arenas.size(); k++)
		arenas[k]->execute([&] { groups[k].wait(); });
}
