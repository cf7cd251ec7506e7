// SPDX-License-Identifier: GPL-2.0-only
/* The [penalty] part of a machine file, read and written. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../policies/plan/plan.h"
#include "../base/replace_file.h"
#include "../host/proc.h"
#include "json.h"
#include "penalty.h"
#include "sourced.h"

#define MOST 1e15

static const struct np_toml_key part_keys[] = {
	{ "remote_per_mpki", NP_TOML_ANY, true },
	{ "local_per_mpki", NP_TOML_ANY, true },
	{ "task", NP_TOML_TABLES, true },
	{ 0 },
};

static const struct np_toml_key task_keys[] = {
	/* clang-format off */
	{ "name", NP_TOML_TEXT, false },
	{ "exe", NP_TOML_TEXT, true },
	{ "unit", NP_TOML_TEXT, true },
	{ "method", NP_TOML_TEXT, true },
	{ "distance", NP_TOML_WHOLE, true },
	{ "mpki", NP_TOML_ANY, true },
	{ "penalty", NP_TOML_ANY, false },
	{ 0 },
	/* clang-format on */
};

/* The method of a measurement; files of earlier versions have no key and one method. */
static int read_method(const struct np_toml_table *t, enum np_provenance *method)
{
	const char *word = np_json_text_of(t->json, "method");

	*method = strcmp(word, np_provenance_name(NP_PROVENANCE_FLIP)) ? NP_PROVENANCE_RUNS :
									 NP_PROVENANCE_FLIP;
	if (!json_object_get(t->json, "method") || !strcmp(word, np_provenance_name(*method)))
		return 0;
	return np_toml_wrong(t, "method", "'%s' is neither two-runs nor flip", word);
}

/* Files of earlier versions have no key: they were measured at the farthest node. */
static int read_distance(const struct np_toml_table *t, int *distance)
{
	json_t *entry = json_object_get(t->json, "distance");
	json_int_t value = entry ? json_integer_value(entry) : NP_FARTHEST;

	*distance = (int)value;
	if (!entry || (value >= 10 && value <= 254))
		return 0;
	return np_toml_wrong(t, "distance", "%lld is outside 10 to 254", (long long)value);
}

static int read_task(const struct np_toml_table *t, struct np_penalty_task *task)
{
	int e = np_toml_check(t, task_keys);

	*task = (struct np_penalty_task) { .mpki = -1 };
	if (!e && !*np_json_text_of(t->json, "name"))
		e = np_toml_wrong(t, "name", "'' is not a program's name");
	if (!e)
		e = read_method(t, &task->method);
	if (!e)
		e = read_distance(t, &task->distance);
	if (!e && json_object_get(t->json, "mpki"))
		e = np_sourced_read(t, "mpki", 0, MOST, &task->mpki);
	if (!e)
		e = np_sourced_read(t, "penalty", 0.01, MOST, &task->penalty);
	if (e)
		return e;
	snprintf(task->key.name, sizeof(task->key.name), "%s", np_json_text_of(t->json, "name"));
	snprintf(task->key.exe, sizeof(task->key.exe), "%s", np_json_text_of(t->json, "exe"));
	snprintf(task->key.unit, sizeof(task->key.unit), "%s", np_json_text_of(t->json, "unit"));
	snprintf(task->source, sizeof(task->source), "%s",
		 json_string_value(json_object_get(json_object_get(t->json, "penalty"), "source")));
	return 0;
}

static int read_fit(const struct np_toml_table *t, struct np_penalty_fit *fit)
{
	bool remote = json_object_get(t->json, "remote_per_mpki");
	bool local = json_object_get(t->json, "local_per_mpki");
	int e = 0;

	if (remote != local)
		return np_toml_wrong(t, NULL, "a fit has both remote_per_mpki and local_per_mpki");
	if (remote)
		e = np_sourced_read(t, "remote_per_mpki", 0, MOST, &fit->remote);
	if (local && !e)
		e = np_sourced_read(t, "local_per_mpki", 0, MOST, &fit->local);
	return e;
}

int np_penalties_from(struct np_penalties *p, const struct np_toml_table *file)
{
	struct np_toml_table part = np_toml_sub(file, "penalty");
	size_t n = json_array_size(json_object_get(part.json, "task"));
	int e = 0;

	memset(p, 0, sizeof(*p));
	if (!part.json)
		return 0;
	if (!json_is_object(part.json))
		return np_toml_wrong(file, "penalty", "is not a table");
	p->task = calloc(n + 1, sizeof(*p->task));
	if (!p->task)
		return np_fail(file->file->err, -ENOMEM, "out of memory");
	e = np_toml_check(&part, part_keys);
	if (!e)
		e = read_fit(&part, &p->fit);
	for (; !e && p->n < n; p->n++) {
		struct np_toml_table task = np_toml_element(&part, "task", p->n);

		e = read_task(&task, &p->task[p->n]);
	}
	p->fit.distance = np_penalty_fit_distance(p->task, p->n);
	if (e)
		np_penalties_free(p);
	return e;
}

int np_penalties_read(struct np_penalties *p, const char *path, struct np_err *err)
{
	struct np_toml_file file = { .path = path, .err = err };
	struct np_toml_table top;
	int e;

	memset(p, 0, sizeof(*p));
	if (access(path, F_OK))
		return 0;
	e = np_toml_open(&file);
	top = np_toml_top(&file);
	if (!e)
		e = np_penalties_from(p, &top);
	np_toml_release(&file);
	return e;
}

/* A task's name may be any bytes, and cut in the middle of a character; TOML is UTF-8. */
static void write_quoted(FILE *f, const char *text)
{
	fputs(*text ? "\"" : "\"_", f);
	for (const char *c = text; *c; c++)
		fprintf(f, *c == '"' || *c == '\\' ? "\\%c" : "%c",
			*c < ' ' || *c > '~' ? '_' : *c);
	putc('"', f);
}

static void write_text(FILE *f, const char *key, const char *text)
{
	fprintf(f, "%s = ", key);
	write_quoted(f, text);
	putc('\n', f);
}

static void write_number(FILE *f, const char *key, double value, const char *source)
{
	fprintf(f, "%s = { value = %.6g, source = ", key, value);
	write_quoted(f, source);
	fprintf(f, " }\n");
}

static void write_part(FILE *f, const struct np_penalties *p)
{
	fprintf(f, "[penalty]\n");
	if (p->fit.remote > 0) {
		fprintf(f,
			"remote_per_mpki = { value = %.6g, source = \"calibrated: least squares "
			"over %zu tasks, off by at most %.1f %%\" }\n",
			p->fit.remote, p->fit.tasks, p->fit.error * 100);
		fprintf(f,
			"local_per_mpki = { value = %.6g, source = \"calibrated: as "
			"remote_per_mpki\" }\n",
			p->fit.local);
	}
	for (size_t i = 0; i < p->n; i++) {
		const struct np_penalty_task *t = &p->task[i];

		fprintf(f, "\n[[penalty.task]]\n");
		write_text(f, "name", t->key.name);
		if (t->key.exe[0])
			write_text(f, "exe", t->key.exe);
		if (t->key.unit[0])
			write_text(f, "unit", t->key.unit);
		fprintf(f, "method = \"%s\"\n", np_provenance_name(t->method));
		if (t->distance > 0)
			fprintf(f, "distance = %d\n", t->distance);
		if (t->mpki >= 0)
			write_number(f, "mpki", t->mpki, t->source);
		write_number(f, "penalty", t->penalty, t->source);
	}
}

/* Whether the line opens the table of that name or one in it: [name], [[name.x]], [ name ]. */
static bool opens(const char *line, const char *name)
{
	line += strspn(line, " \t[");
	return !strncmp(line, name, strlen(name)) && strchr(" \t.]", line[strlen(name)]);
}

/* The file's lines but those of its [penalty]. */
static void copy_rest(FILE *f, const char *text)
{
	bool ours = false, blank = false, any = false;

	for (const char *line = text; line && *line;) {
		size_t len = strcspn(line, "\n");

		if (line[strspn(line, " \t")] == '[')
			ours = opens(line, "penalty");
		if (!ours && len) {
			fprintf(f, "%s%.*s\n", blank ? "\n" : "", (int)len, line);
			blank = false;
			any = true;
		} else if (!ours) {
			blank = true;
		}
		line += len + (line[len] == '\n');
	}
	if (any)
		putc('\n', f);
}

static int cannot_write(const char *path, int e, struct np_err *err)
{
	return np_fail(err, e, "%s cannot be written: %s", path, strerror(-e));
}

int np_penalties_may_write(const char *path, struct np_err *err)
{
	struct np_fresh fresh;
	int e = np_fresh_open(&fresh, path);

	if (e)
		return cannot_write(path, e, err);
	np_fresh_drop(&fresh);
	return 0;
}

/* A file with other tables must not become a wrong one: what was written is read. */
static int check_written(struct np_fresh *fresh, const char *path, struct np_err *err)
{
	struct np_penalties again;
	struct np_err why;
	int e = fflush(fresh->f) ? -errno : 0;

	if (e)
		return cannot_write(path, e, err);
	e = np_penalties_read(&again, fresh->path, &why);
	np_penalties_free(&again);
	return e ? np_fail(err, e,
			   "%s is left as it is, as it would be wrong with penalties: %.300s", path,
			   why.text) :
		   0;
}

int np_penalties_write(const struct np_penalties *p, const char *path, struct np_err *err)
{
	char *text = np_read_file(path);
	struct np_fresh fresh;
	int e;

	if (!text && errno != ENOENT)
		return np_fail(err, -errno, "%s cannot be read: %s", path, strerror(errno));
	e = np_fresh_open(&fresh, path);
	if (e) {
		free(text);
		return cannot_write(path, e, err);
	}
	copy_rest(fresh.f, text);
	write_part(fresh.f, p);
	free(text);
	e = check_written(&fresh, path, err);
	if (e) {
		np_fresh_drop(&fresh);
		return e;
	}
	e = np_fresh_keep(&fresh, path, true);
	return e ? cannot_write(path, e, err) : 0;
}
