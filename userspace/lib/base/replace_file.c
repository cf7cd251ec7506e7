// SPDX-License-Identifier: GPL-2.0-only
#include "replace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int np_fresh_open(struct np_fresh *n, const char *path)
{
	struct stat st;
	bool there = !lstat(path, &st);
	int fd;

	n->f = NULL;
	if (there && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		return -EINVAL;
	if ((size_t)snprintf(n->path, sizeof(n->path), "%s.new.%d", path, getpid()) >=
	    sizeof(n->path))
		return -ENAMETOOLONG;
	unlink(n->path); /* left by a killed process of this pid */
	fd = open(n->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	if (there && S_ISREG(st.st_mode))
		fchmod(fd, st.st_mode & 0777);
	n->f = fdopen(fd, "w");
	return n->f ? 0 : -ENOMEM;
}

int np_fresh_keep(struct np_fresh *n, const char *path, bool durable)
{
	int e = 0;

	/* Which write failed is not known any more: one more says why. */
	if (ferror(n->f))
		e = write(fileno(n->f), "", 1) < 0 ? -errno : -EIO;
	else if (fflush(n->f) || (durable && fsync(fileno(n->f))))
		e = -errno;
	if (fclose(n->f) && !e)
		e = -errno;
	n->f = NULL;
	if (!e && rename(n->path, path))
		e = -errno;
	if (e)
		unlink(n->path);
	return e;
}

void np_fresh_drop(struct np_fresh *n)
{
	fclose(n->f);
	n->f = NULL;
	unlink(n->path);
}
