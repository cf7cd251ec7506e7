// SPDX-License-Identifier: GPL-2.0-only
/* The [penalty] part of a machine file, read and written. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../policies/plan/plan.h"
#include "../base/replace_file.h"
#include "../base/toml.h"
#include "../host/proc.h"
#include "penalty.h"

static int wrong(const char *path, const char *what, char *err, size_t err_len)
{
	return np_fail(err, err_len, -EINVAL, "%s: penalty: %s", path, what);
}

/* { value = NUMBER, source = TEXT } with the number from min up. */
static bool number(json_t *table, const char *key, double min, double *value, const char **source)
{
	json_t *entry = json_object_get(table, key), *v = json_object_get(entry, "value");

	*value = json_number_value(v);
	*source = json_string_value(json_object_get(entry, "source"));
	return json_is_number(v) && *source && isfinite(*value) && *value >= min;
}

/* How a task was measured; files of earlier versions do not say and had one way. */
static bool read_method(json_t *table, enum np_provenance *method)
{
	json_t *entry = json_object_get(table, "method");
	const char *word = json_string_value(entry);

	*method = word && !strcmp(word, np_provenance_name(NP_PROVENANCE_FLIP)) ? NP_PROVENANCE_FLIP :
		  NP_PROVENANCE_RUNS;
	return !entry || (word && !strcmp(word, np_provenance_name(*method)));
}

/* Files of earlier versions do not say: they hold what was measured at the farthest. */
static bool read_distance(json_t *table, int *distance)
{
	json_t *entry = json_object_get(table, "distance");
	json_int_t value = entry ? json_integer_value(entry) : NP_FARTHEST;

	*distance = (int)value;
	return !entry || (json_is_integer(entry) && value >= 10 && value <= 254);
}

static bool read_text(json_t *table, const char *key, char *text, size_t len)
{
	json_t *entry = json_object_get(table, key);

	snprintf(text, len, "%s", json_is_string(entry) ? json_string_value(entry) : "");
	return !entry || json_is_string(entry);
}

static int read_task(json_t *table, struct np_penalties *p, const char *path, char *err,
		     size_t err_len)
{
	const char *name = json_string_value(json_object_get(table, "name")), *source;
	struct np_penalty_task task = { .mpki = -1 };
	void *bigger = realloc(p->task, (p->n + 1) * sizeof(*p->task));

	if (!bigger)
		return np_fail(err, err_len, -ENOMEM, "out of memory");
	p->task = bigger;
	if (!name || !*name)
		return wrong(path, "a task has no name", err, err_len);
	if ((json_object_get(table, "mpki") && !number(table, "mpki", 0, &task.mpki, &source)) ||
	    !number(table, "penalty", 0.01, &task.penalty, &source))
		return wrong(path, "a task's mpki or penalty is not { value = NUMBER, source = "
			     "\"ORIGIN: ...\" }", err, err_len);
	if (!read_method(table, &task.method))
		return wrong(path, "a task's method is neither \"two-runs\" nor \"flip\"", err, err_len);
	if (!read_distance(table, &task.distance))
		return wrong(path, "a task's distance is not a whole number from 10 to 254", err,
			     err_len);
	if (!read_text(table, "exe", task.key.exe, sizeof(task.key.exe)) ||
	    !read_text(table, "unit", task.key.unit, sizeof(task.key.unit)))
		return wrong(path, "a task's exe or unit is no text", err, err_len);
	snprintf(task.key.name, sizeof(task.key.name), "%s", name);
	snprintf(task.source, sizeof(task.source), "%s", source);
	p->task[p->n++] = task;
	return 0;
}

static int read_part(json_t *part, struct np_penalties *p, const char *path, char *err,
		     size_t err_len)
{
	const char *source;
	json_t *task;
	size_t i;
	int e = 0;

	if (json_object_get(part, "remote_per_mpki") &&
	    (!number(part, "remote_per_mpki", 0, &p->fit.remote, &source) ||
	     !number(part, "local_per_mpki", 0, &p->fit.local, &source)))
		return wrong(path, "remote_per_mpki and local_per_mpki are not both numbers from 0 "
			     "with a source", err, err_len);
	json_array_foreach(json_object_get(part, "task"), i, task)
		if (!e)
			e = read_task(task, p, path, err, err_len);
	p->fit.distance = np_penalty_fit_distance(p->task, p->n);
	return e;
}

int np_penalties_read(struct np_penalties *p, const char *path, char *err, size_t err_len)
{
	json_t *root;
	int e = 0;

	memset(p, 0, sizeof(*p));
	if (access(path, F_OK))
		return 0;
	root = np_toml_read(path, err, err_len);
	if (!root)
		return -EINVAL;
	if (json_object_get(root, "penalty"))
		e = read_part(json_object_get(root, "penalty"), p, path, err, err_len);
	json_decref(root);
	if (e)
		np_penalties_free(p);
	return e;
}

/* A task's name may be any bytes, and cut in the middle of a character; TOML is UTF-8. */
static void write_text(FILE *f, const char *key, const char *text)
{
	fprintf(f, "%s = \"%s", key, *text ? "" : "_");
	for (const char *c = text; *c; c++)
		fprintf(f, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c < ' ' || *c > '~' ? '_' : *c);
	fprintf(f, "\"\n");
}

static void write_part(FILE *f, const struct np_penalties *p)
{
	fprintf(f, "[penalty]\n");
	if (p->fit.remote > 0) {
		fprintf(f, "remote_per_mpki = { value = %.6g, source = \"calibrated: least squares "
			"over %zu tasks, off by at most %.1f %%\" }\n", p->fit.remote, p->fit.tasks,
			p->fit.error * 100);
		fprintf(f, "local_per_mpki = { value = %.6g, source = \"calibrated: as "
			"remote_per_mpki\" }\n", p->fit.local);
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
			fprintf(f, "mpki = { value = %.6g, source = \"%s\" }\n", t->mpki, t->source);
		fprintf(f, "penalty = { value = %.6g, source = \"%s\" }\n", t->penalty, t->source);
	}
}

/* The file's lines but those of its [penalty]. */
static void copy_rest(FILE *f, const char *text)
{
	bool ours = false, blank = false, any = false;

	for (const char *line = text; line && *line;) {
		size_t len = strcspn(line, "\n");

		if (*line == '[')
			ours = !strncmp(line, "[penalty", 8) || !strncmp(line, "[[penalty", 9);
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

static int cannot_write(const char *path, int e, char *err, size_t err_len)
{
	return np_fail(err, err_len, e, "%s cannot be written: %s", path, strerror(-e));
}

int np_penalties_may_write(const char *path, char *err, size_t err_len)
{
	struct np_fresh fresh;
	int e = np_fresh_open(&fresh, path);

	if (e)
		return cannot_write(path, e, err, err_len);
	np_fresh_drop(&fresh);
	return 0;
}

int np_penalties_write(const struct np_penalties *p, const char *path, char *err, size_t err_len)
{
	char *text = np_read_file(path);
	struct np_fresh fresh;
	int e;

	if (!text && errno != ENOENT)
		return np_fail(err, err_len, -errno, "%s cannot be read: %s", path, strerror(errno));
	e = np_fresh_open(&fresh, path);
	if (!e) {
		copy_rest(fresh.f, text);
		write_part(fresh.f, p);
		e = np_fresh_keep(&fresh, path, true);
	}
	free(text);
	return e ? cannot_write(path, e, err, err_len) : 0;
}
