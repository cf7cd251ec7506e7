// SPDX-License-Identifier: GPL-2.0-only
#include "hysteresis.h"

/* Re-migrate when more than max(256, 5 %) of a task's pages are misplaced. */
#define STRAY_PAGES 256
#define STRAY_SHARE 20

#define FNV_PRIME 0x100000001b3

/* A back-off doubles no more often than this. */
#define MAX_DOUBLINGS 6

const char *const np_hysteresis_name[NP_HYSTERESIS_RESULTS] = {
	[NP_HYSTERESIS_ACT] = "act",
	[NP_HYSTERESIS_SMALL_GAIN] = "small_gain",
	[NP_HYSTERESIS_NOT_STEADY] = "not_steady",
	[NP_HYSTERESIS_LEFT] = "left_alone",
	[NP_HYSTERESIS_DONE] = "done",
	[NP_HYSTERESIS_TAKEN_BACK] = "taken_back",
};

/* A hash of the nodes in a row of the plan (FNV-1a); 0: no row. */
static uint64_t mark_of(const struct np_plan *plan, size_t n_nodes, int row)
{
	uint64_t mark = 0xcbf29ce484222325;

	if (row == NP_NODE_NONE)
		return 0;
	for (size_t node = 0; node < n_nodes; node++)
		mark = (mark ^ !plan->spread[(size_t)row * n_nodes + node]) * FNV_PRIME;
	return mark;
}

struct np_aim np_aim_of(const struct np_plan *plan, size_t n_nodes, size_t i)
{
	const struct np_decision *d = &plan->decision[i];

	return (struct np_aim) {
		d->to,
		d->pages_to,
		mark_of(plan, n_nodes, d->spread),
		mark_of(plan, n_nodes, d->nodes),
	};
}

static bool same(const struct np_aim *a, const struct np_aim *b)
{
	return a->to == b->to && a->pages_to == b->pages_to && a->spread == b->spread &&
	       a->nodes == b->nodes;
}

/* Misplaced pages that are not worth a move. */
static uint64_t stray_of(uint64_t pages)
{
	uint64_t share = pages / STRAY_SHARE;

	return share > STRAY_PAGES ? share : STRAY_PAGES;
}

static void remember(struct np_hysteresis *s, const struct np_aim *aim, unsigned int now)
{
	bool again = s->agreed && s->judged_at == now;

	s->judged_at = now;
	if (s->agreed && same(&s->aim, aim)) {
		s->agreed += !again;
		return;
	}
	s->aim = *aim;
	s->agreed = 1;
	s->tried = false;
}

static bool is_worth_another_try(const struct np_hysteresis *s, const struct np_decision *d,
				 uint64_t pages)
{
	/* The task or some of its pages have left the node that they were moved to. */
	return (d->to != NP_NODE_NONE && d->from != d->to) ||
	       (d->nodes != NP_NODE_NONE && !d->pages_to_move) ||
	       d->pages_to_move > s->behind + stray_of(pages);
}

enum np_hysteresis_result np_hysteresis_judge(struct np_hysteresis *s,
					      const struct np_hysteresis_rules *r,
					      const struct np_decision *d, const struct np_aim *aim,
					      uint64_t pages, unsigned int now)
{
	remember(s, aim, now);
	if (now < s->left_until)
		return NP_HYSTERESIS_LEFT;
	if (s->tried && !is_worth_another_try(s, d, pages))
		return NP_HYSTERESIS_DONE;
	if (d->gain_source != NP_PROVENANCE_NONE && d->gain < r->min_gain)
		return NP_HYSTERESIS_SMALL_GAIN;
	if (s->agreed < r->plans)
		return NP_HYSTERESIS_NOT_STEADY;
	return NP_HYSTERESIS_ACT;
}

void np_hysteresis_rest(struct np_hysteresis *s)
{
	s->agreed = 0;
	s->tried = false;
}

static void leave(struct np_hysteresis *s, const struct np_hysteresis_rules *r, unsigned int now)
{
	unsigned int doublings = s->ping_pongs < MAX_DOUBLINGS ? s->ping_pongs : MAX_DOUBLINGS;

	s->left_until = now + 1 + (r->back_off << doublings);
	s->ping_pongs++;
}

bool np_hysteresis_moved(struct np_hysteresis *s, const struct np_hysteresis_rules *r,
			 const struct np_decision *d, uint64_t behind, unsigned int now)
{
	const struct np_hysteresis_move *before = &s->last[1];

	s->tried = true;
	s->behind = behind;
	if (d->to == NP_NODE_NONE || d->from == d->to)
		return false;
	s->last[1] = s->last[0];
	s->last[0] = (struct np_hysteresis_move) { d->from, d->to, now };
	s->moves++;
	if (s->moves < 2 || before->from != d->to || now - before->at > r->window)
		return false;
	leave(s, r, now);
	return true;
}

void np_hysteresis_failed(struct np_hysteresis *s, const struct np_hysteresis_rules *r,
			  unsigned int now)
{
	s->tried = true;
	leave(s, r, now);
}

uint64_t np_hysteresis_among(const struct np_task *tasks, const unsigned long long *start, size_t n)
{
	uint64_t sum = 1;

	for (size_t i = 0; i < n; i++)
		sum += ((uint64_t)tasks[i].pid << 40 ^ start[i]) * FNV_PRIME;
	return sum ? sum : 1;
}

void np_hysteresis_taken_back(struct np_hysteresis *s, const struct np_aim *aim, uint64_t among)
{
	s->refused = *aim;
	s->refused_among = among;
}

bool np_hysteresis_is_refused(const struct np_hysteresis *s, const struct np_aim *aim,
			      uint64_t among)
{
	return s->refused_among == among && same(&s->refused, aim);
}
