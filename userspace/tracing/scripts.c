// SPDX-License-Identifier: GPL-2.0-only
#include "scripts.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/base/grow.h"

#define SUFFIX ".bt"

/* From the folder of the program: built in the tree, built with sanitizers, installed. */
static const char *const folders[] = {
	"../userspace/tracing",
	"../../userspace/tracing",
	"../share/numaplace/tracing",
};

/* The folder that this program is in. 0 or -errno. */
static int own_folder(char *path, size_t len)
{
	ssize_t n = readlink("/proc/self/exe", path, len - 1);
	char *slash;

	if (n < 0)
		return -errno;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return -ENOENT;
	*slash = '\0';
	return 0;
}

/* What follows "NAME.bt" and a tab in the comment at the top. */
static void read_summary(struct np_script *s)
{
	char line[256], *found;
	FILE *f = fopen(s->path, "re");

	while (f && !*s->summary && fgets(line, sizeof(line), f)) {
		found = strstr(line, SUFFIX "\t");
		if (!found)
			continue;
		found += strlen(SUFFIX "\t");
		found[strcspn(found, "\n")] = '\0';
		snprintf(s->summary, sizeof(s->summary), "%s", found);
	}
	if (f)
		fclose(f);
}

static int add(struct np_scripts *scripts, const char *folder, const char *file)
{
	size_t len = strlen(file) - strlen(SUFFIX);
	struct np_script *s;

	if (np_grow(&scripts->script, scripts->n, sizeof(*s)))
		return -ENOMEM;
	s = &scripts->script[scripts->n];
	memset(s, 0, sizeof(*s));
	if (len >= sizeof(s->name) ||
	    snprintf(s->path, sizeof(s->path), "%s/%s", folder, file) >= (int)sizeof(s->path))
		return -ENAMETOOLONG;
	memcpy(s->name, file, len);
	read_summary(s);
	scripts->n++;
	return 0;
}

static int is_script(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name), suffix = strlen(SUFFIX);

	return len > suffix && !strcmp(entry->d_name + len - suffix, SUFFIX);
}

static int read_folder(struct np_scripts *scripts, const char *folder)
{
	struct dirent **entries;
	int n = scandir(folder, &entries, is_script, alphasort), e = 0;

	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++) {
		if (!e)
			e = add(scripts, folder, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return e;
}

int np_scripts_find(struct np_scripts *scripts)
{
	char own[PATH_MAX / 2], folder[PATH_MAX];
	int e = own_folder(own, sizeof(own));

	*scripts = (struct np_scripts) { 0 };
	for (size_t i = 0; !e && !scripts->n && i < sizeof(folders) / sizeof(*folders); i++) {
		snprintf(folder, sizeof(folder), "%s/%s", own, folders[i]);
		e = read_folder(scripts, folder);
		if (e == -ENOENT || e == -ENOTDIR)
			e = 0;
	}
	return e || scripts->n ? e : -ENOENT;
}

void np_scripts_free(struct np_scripts *scripts)
{
	free(scripts->script);
	*scripts = (struct np_scripts) { 0 };
}

const struct np_script *np_scripts_get(const struct np_scripts *scripts, const char *name)
{
	for (size_t i = 0; i < scripts->n; i++)
		if (!strcmp(scripts->script[i].name, name))
			return &scripts->script[i];
	return NULL;
}
