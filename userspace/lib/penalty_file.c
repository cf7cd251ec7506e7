// SPDX-License-Identifier: GPL-2.0-only
/* The [penalty] part of a machine file, read and written. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../policies/plan.h"
#include "penalty.h"
#include "proc.h"
#include "toml.h"

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
static bool read_method(json_t *table, enum np_source *method)
{
	json_t *entry = json_object_get(table, "method");
	const char *word = json_string_value(entry);

	*method = word && !strcmp(word, np_source_name(NP_SOURCE_FLIP)) ? NP_SOURCE_FLIP :
		  NP_SOURCE_RUNS;
	return !entry || (word && !strcmp(word, np_source_name(*method)));
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
	snprintf(task.name, sizeof(task.name), "%s", name);
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
static void write_name(FILE *f, const char *name)
{
	fprintf(f, "name = \"%s", *name ? "" : "_");
	for (const char *c = name; *c; c++)
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
		write_name(f, t->name);
		fprintf(f, "method = \"%s\"\n", np_source_name(t->method));
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

/* Beside the file, so that rename() puts it there; of this process only: another may save meanwhile. */
static FILE *open_fresh(const char *path, char *fresh, size_t len)
{
	snprintf(fresh, len, "%s.new.%d", path, getpid());
	return fopen(fresh, "we");
}

int np_penalties_may_write(const char *path, char *err, size_t err_len)
{
	char fresh[PATH_MAX];
	FILE *f = open_fresh(path, fresh, sizeof(fresh));

	if (!f)
		return cannot_write(path, -errno, err, err_len);
	fclose(f);
	unlink(fresh);
	return 0;
}

int np_penalties_write(const struct np_penalties *p, const char *path, char *err, size_t err_len)
{
	char fresh[PATH_MAX];
	char *text = np_read_file(path);
	FILE *f;
	int e = 0;

	if (!text && errno != ENOENT)
		return np_fail(err, err_len, -errno, "%s cannot be read: %s", path, strerror(errno));
	f = open_fresh(path, fresh, sizeof(fresh));
	if (f) {
		copy_rest(f, text);
		write_part(f, p);
	}
	free(text);
	if (!f || ferror(f) || fflush(f) || fsync(fileno(f)))
		e = errno ? -errno : -EIO;
	if (f && fclose(f) && !e)
		e = -errno;
	if (!e && rename(fresh, path))
		e = -errno;
	if (!e)
		return 0;
	unlink(fresh);
	return cannot_write(path, e, err, err_len);
}
