// SPDX-License-Identifier: GPL-2.0-only
/* Moves of files by an engine that answers as it is told, and what is noted of them. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../lib/engine/migrate_file.h"
#include "../../lib/host/proc.h"
#include "../../lib/plan/apply.h"
#include "../../lib/plan/saved_files.h"
#include "../fixture.h"

#define PAGES	  4
#define MAX_FILES 2

static struct np_migrate_result answer;
static int answer_error;
static unsigned int calls;
static volatile sig_atomic_t stop;
static struct np_err err;

static int migrate(const struct np_migrate_request *r, struct np_migrate_result *out,
		   struct np_err *err)
{
	*out = answer;
	calls++;
	if (r->progress)
		r->progress(out, r->progress_arg);
	return answer_error ? np_fail(err, answer_error, "told to fail") : 0;
}

static const struct np_engine_ops ops = { .name = "told", .migrate = migrate };

static void tell(uint64_t moved, uint64_t busy, int error)
{
	answer = (struct np_migrate_result) {
		.asked = moved + busy, .moved = moved, .busy = busy, .engine = "told"
	};
	answer_error = error;
	calls = 0;
}

struct some_files {
	const char *root;
	struct np_node node[2];
	struct np_machine machine;
	uint64_t pages[2];
	double share[2];
	char path[MAX_FILES][PATH_MAX];
	struct np_file file[MAX_FILES];
	struct np_file_move move[MAX_FILES];
	struct np_file_moves moves;
};

/* n files, all of their pages on node 1 as far as anybody knows, that go to node 0. */
static void begin(struct some_files *s, size_t n)
{
	static const char text[PAGES * 4096];

	*s = (struct some_files) { .root = fixture_begin(), .node = { { .id = 0 }, { .id = 1 } } };
	s->machine = (struct np_machine) { .n_nodes = 2, .node = s->node, .page_size = 4096 };
	s->pages[1] = PAGES;
	s->share[0] = 1;
	for (size_t i = 0; i < n; i++) {
		struct np_mapped_file mapped;
		FILE *f;

		snprintf(s->path[i], sizeof(s->path[i]), "%s/file%zu", s->root, i);
		f = fopen(s->path[i], "w");
		CU_ASSERT_FATAL(f && fwrite(text, sizeof(text), 1, f) == 1 && !fclose(f));
		s->file[i] = (struct np_file) { .path = s->path[i], .pages = s->pages };
		CU_ASSERT_EQUAL_FATAL(np_mapped_file_open(&mapped, s->path[i], &err), 0);
		CU_ASSERT_EQUAL_FATAL(np_mapped_file_identify(&mapped, &s->file[i].id), 0);
		s->file[i].born = mapped.born;
		np_mapped_file_close(&mapped);
		s->move[i] = (struct np_file_move) { &s->file[i], s->share, PAGES };
	}
	s->moves = (struct np_file_moves) { .move = s->move, .n = n };
}

TEST(what_a_failed_move_of_a_file_has_moved_counts)
{
	const struct np_mover mover = { .engine = &ops };
	struct np_migrate_result out;
	struct some_files s;

	begin(&s, 1);
	tell(3, 1, -EIO);
	answer.engine = "this+that";
	CU_ASSERT_EQUAL(np_file_move_to(&s.file[0], s.share, &s.machine, &mover, &out, &err), -EIO);
	CU_ASSERT_EQUAL(out.moved, 3);
	CU_ASSERT_EQUAL(out.asked, 4);
	CU_ASSERT_STRING_EQUAL(out.engine, "this+that");
	fixture_end();
}

/* Whether `restore --pages` knows where the first file's pages were; not from then on. */
static bool is_noted(const struct some_files *s)
{
	bool added[MAX_FILES] = { false }, all[MAX_FILES] = { true, true };

	CU_ASSERT_EQUAL(np_saved_files_add(&s->moves, &s->machine, added, &err), 0);
	CU_ASSERT_EQUAL(np_saved_files_drop(&s->moves, all, &err), 0);
	return !added[0];
}

static void note(const struct some_files *s)
{
	bool added[MAX_FILES];

	setenv("XDG_RUNTIME_DIR", s->root, 1);
	CU_ASSERT_EQUAL(np_saved_files_add(&s->moves, &s->machine, added, &err), 0);
}

TEST(a_file_of_which_pages_stay_keeps_its_record)
{
	const struct np_mover mover = { .engine = &ops };
	struct np_files_back back = { 0 };
	struct some_files s;

	begin(&s, 1);
	note(&s);
	tell(3, 1, 0);
	CU_ASSERT_EQUAL(np_saved_files_restore(&s.machine, NULL, 0, &mover, &stop, &back, &err), 0);
	CU_ASSERT_EQUAL(back.files, 1);
	CU_ASSERT_EQUAL(back.moved, 3);
	CU_ASSERT_EQUAL(back.missing, 1);
	tell(1, 0, 0);
	CU_ASSERT_EQUAL(np_saved_files_restore(&s.machine, NULL, 0, &mover, &stop, &back, &err), 0);
	CU_ASSERT_EQUAL(back.moved, 4);
	CU_ASSERT_EQUAL(back.missing, 1);
	CU_ASSERT_FALSE(is_noted(&s));
	fixture_end();
}

static uint64_t watched; /* pages, as last seen */

static void watch(const struct np_applied *a, const struct np_migrate_result *so_far)
{
	watched = so_far->moved;
	for (size_t i = 0; i < a->p->files->n; i++)
		watched += a->file_step[i].moved.moved;
}

static void apply(struct some_files *s, struct np_request *p, struct np_applied *a)
{
	const struct np_apply_how how = {
		.engine = &ops, .stop = &stop, .note_pages = true, .watch = watch
	};

	setenv("XDG_RUNTIME_DIR", s->root, 1);
	*p = (struct np_request) { .machine = s->machine, .files = &s->moves };
	CU_ASSERT_EQUAL_FATAL(np_apply(a, p, &how, &err), 0);
}

TEST(undo_says_of_which_file_pages_stay)
{
	struct np_request p;
	struct np_applied a;
	struct some_files s;

	for (uint64_t stay = 0; stay < 2; stay++) {
		begin(&s, 1);
		tell(PAGES, 0, 0);
		apply(&s, &p, &a);
		tell(PAGES - stay, stay, 0);
		np_apply_undo(&a);
		CU_ASSERT_TRUE(a.undone);
		CU_ASSERT_EQUAL(a.file_step[0].back, !stay);
		CU_ASSERT_EQUAL(a.file_step[0].moved.moved, PAGES);
		CU_ASSERT_EQUAL(strstr(a.not_undone.text, ": 1 pages of ") != NULL, stay);
		CU_ASSERT_EQUAL(is_noted(&s), stay);
		np_applied_free(&a);
		fixture_end();
	}
}

/* Whatever the error is: some of it has moved, so its record is needed, and the next one is tried. */
TEST(a_file_that_fails_is_told_and_stays_noted)
{
	static const int errors[] = { -EACCES, -EIO, -EINVAL, -ENOMEM };
	struct np_request p;
	struct np_applied a;
	struct some_files s;

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		begin(&s, 2);
		tell(3, 1, errors[i]);
		apply(&s, &p, &a);
		CU_ASSERT_EQUAL(calls, 2);
		for (size_t k = 0; k < 2; k++)
			CU_ASSERT_PTR_NOT_NULL(strstr(a.file_step[k].err.text, s.path[k]));
		CU_ASSERT_EQUAL(a.file_step[0].moved.moved, 3);
		CU_ASSERT_STRING_EQUAL(a.note.text, "");
		CU_ASSERT_TRUE(is_noted(&s));
		np_applied_free(&a);
		fixture_end();
	}
}

TEST(progress_of_files_can_be_watched)
{
	struct np_request p;
	struct np_applied a;
	struct some_files s;

	begin(&s, 2);
	tell(PAGES, 0, 0);
	apply(&s, &p, &a);
	CU_ASSERT_EQUAL(watched, 2 * PAGES);
	CU_ASSERT_TRUE(is_noted(&s));
	np_applied_free(&a);
	fixture_end();
}

/* Its number alone does not bring back the files of the one that had it before. */
TEST(a_pid_that_is_used_again_is_another_reader)
{
	const struct np_mover mover = { .engine = &ops };
	struct np_file_reader reader = { .pid = getpid() };
	struct np_task task = { .pid = getpid() };
	struct np_files_back back = { 0 };
	struct np_proc_stat st;
	struct some_files s;

	CU_ASSERT_EQUAL_FATAL(np_proc_stat(reader.pid, &st), 0);
	for (unsigned int other = 0; other < 2; other++) {
		begin(&s, 1);
		s.file[0].reader = &reader;
		s.file[0].n_readers = 1;
		st.start += other;
		s.moves.files.readers = (struct np_tasks) { .n = 1,
							    .task = &task,
							    .start = &st.start };
		note(&s);
		tell(PAGES, 0, 0);
		CU_ASSERT_EQUAL(np_saved_files_restore(&s.machine, &reader.pid, 1, &mover, &stop,
						       &back, &err),
				0);
		CU_ASSERT_EQUAL(calls, !other);
		CU_ASSERT_EQUAL(is_noted(&s), other);
		fixture_end();
	}
}

/* A memfd has no path, and only root may follow the way through its reader. */
TEST(a_file_that_may_not_be_opened_is_told_of)
{
	static int cpu_node[NP_MAX_CPUS];
	const size_t length = 2 << 20;
	int fd = memfd_create("left-out", MFD_CLOEXEC);
	struct np_node node[2] = { { .id = 0, .has_memory = true },
				   { .id = 1, .has_memory = true } };
	struct np_machine m = {
		.n_nodes = 2, .node = node, .page_size = 4096, .n_cpus = 1, .cpu_node = cpu_node
	};
	struct np_task task = { .pid = getpid() };
	struct np_proc_stat st;
	struct np_tasks tasks = { .n = 1, .task = &task, .start = &st.start };
	struct np_decision decision = {
		.to = 1, .pages_to = 1, .spread = NP_NODE_NONE, .nodes = NP_NODE_NONE
	};
	struct np_plan plan = { .n = 1, .decision = &decision };
	const struct np_file_plan p = { &m, &tasks, &plan, false };
	struct np_file_moves moves;
	uid_t user = geteuid();
	char *memory;

	node[1].mem_free = node[1].mem_total = 1ull << 40;
	CU_ASSERT_FATAL(fd >= 0 && !ftruncate(fd, (off_t)length) && !np_proc_stat(task.pid, &st));
	memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CU_ASSERT_FATAL(memory != MAP_FAILED);
	memset(memory, 1, length);
	CU_ASSERT_FATAL(user || !seteuid(65534));
	CU_ASSERT_EQUAL(np_file_moves_plan(&moves, &p, &err), 0);
	CU_ASSERT_EQUAL(moves.left_out, 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(moves.note.text, "/memfd:left-out"));
	CU_ASSERT_PTR_NOT_NULL(strstr(moves.note.text, "; run as root"));
	np_file_moves_free(&moves);
	CU_ASSERT_FATAL(user || !seteuid(0));
	munmap(memory, length);
	close(fd);
}
