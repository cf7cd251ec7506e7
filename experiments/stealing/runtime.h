/* SPDX-License-Identifier: GPL-2.0-only */
/* The two runtimes: one arena for all workers, or one for each node. */
#ifndef NP_STEALING_RUNTIME_H
#define NP_STEALING_RUNTIME_H

#include <functional>
#include <memory>
#include <sched.h>
#include <string>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>
#include <vector>

struct Node {
	int id;
	std::vector<int> cpus;	/* that this process may use */
};

/*
 * Workers of an arena run on its CPUs while they are in it: oneTBB's own
 * binding is optional at run time, this is not.
 */
class Binding : public tbb::task_scheduler_observer {
public:
	Binding(tbb::task_arena &arena, const std::vector<int> &cpus);
	~Binding() override { observe(false); }
	void on_scheduler_entry(bool worker) override;
	void on_scheduler_exit(bool worker) override;

private:
	cpu_set_t inside;
};

/*
 * Work comes in parts, one for each node, whichever runtime it is: so both do
 * the same work in the same order of operations. In the vanilla runtime any
 * worker may steal any of it; in the locality runtime a part, and all that it
 * spawns, stays with the workers of its node.
 */
class Runtime {
public:
	/* With fewer workers than CPUs both runtimes have one arena. */
	Runtime(const std::vector<Node> &nodes, bool locality, int workers);

	/* Does every part once; returns when all are done. */
	void each_part(const std::function<void(int part)> &work);
	int parts() const { return count; }
	bool is_local() const { return arenas.size() > 1; }

private:
	int count;
	tbb::global_control limit;
	std::vector<std::unique_ptr<tbb::task_arena>> arenas;
	std::vector<std::unique_ptr<Binding>> bindings;
};

#endif
