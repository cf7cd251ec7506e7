// SPDX-License-Identifier: GPL-2.0-only
#include "module_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "../base/error.h"
#include "../base/record.h"
#include "proc.h"

#define DEBUGFS_ROOT "/sys/kernel/debug"
#define DEBUGFS_TYPE 0x64626720

static const char *module_dir = NUMAPLACE_DIR;

void np_module_use_dir(const char *dir)
{
	module_dir = dir ? dir : NUMAPLACE_DIR;
}

static void file_path(char *path, size_t len, const char *file)
{
	snprintf(path, len, "%s/%s", module_dir, file);
}

char *np_module_read(const char *file)
{
	char path[PATH_MAX];

	file_path(path, sizeof(path), file);
	return np_read_file(path);
}

int np_module_open(const char *file)
{
	char path[PATH_MAX];
	int fd;

	file_path(path, sizeof(path), file);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int np_module_write(const char *file, const char *line)
{
	size_t len = strlen(line);
	char path[PATH_MAX];
	int fd, e = 0;
	ssize_t n;

	file_path(path, sizeof(path), file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = write(fd, line, len);
	if (n != (ssize_t)len)
		e = n < 0 ? -errno : -EIO;
	close(fd);
	return e;
}

int np_module_version_parse(const char *text, struct np_module_info *info)
{
	uint64_t abi;

	if (!np_record_get(text, "numaplace", info->version, sizeof(info->version)) ||
	    !np_record_number(text, "abi", &abi) || abi > UINT_MAX)
		return -EINVAL;
	info->abi = (unsigned int)abi;
	return 0;
}

/* "integrity" or "confidentiality" when the kernel is locked down, else NULL. */
static const char *lockdown(void)
{
	char *text = np_read_file("/sys/kernel/security/lockdown");
	const char *level = NULL;

	if (text && strstr(text, "[integrity]"))
		level = "integrity";
	else if (text && strstr(text, "[confidentiality]"))
		level = "confidentiality";
	free(text);
	return level;
}

static bool signed_only(void)
{
	char *text = np_read_file("/sys/module/module/parameters/sig_enforce");
	bool yes = text && text[0] == 'Y';

	free(text);
	return yes;
}

static int explain_not_loaded(struct np_err *err)
{
	if (signed_only())
		return np_fail(err, -EOPNOTSUPP,
			       "the numaplace module is not loaded, and the kernel takes signed "
			       "modules only; enrol the key that dkms signs it with (`mokutil "
			       "--import /var/lib/dkms/mok.pub`, then reboot)");
	return np_fail(err, -EOPNOTSUPP,
		       "the numaplace module is not loaded; build it with `make module` "
		       "and load it with `insmod`, as root");
}

static int explain_missing(struct np_err *err)
{
	const char *level = lockdown();
	struct statfs fs;

	/* A signature would not do: the module's own files are in debugfs. */
	if (level)
		return np_fail(err, -EOPNOTSUPP,
			       "the kernel is locked down (%s): it refuses unsigned modules and "
			       "debugfs; boot without lockdown= and without Secure Boot (`mokutil "
			       "--disable-validation`, then reboot)",
			       level);
	if (access("/sys/module/numaplace", F_OK))
		return explain_not_loaded(err);
	if (geteuid())
		return np_fail(err, -EPERM,
			       "the numaplace module is loaded, but its files are root's; "
			       "run as root");
	if (statfs(DEBUGFS_ROOT, &fs) || fs.f_type != DEBUGFS_TYPE)
		return np_fail(err, -EOPNOTSUPP,
			       "debugfs is not mounted; mount -t debugfs none " DEBUGFS_ROOT);
	return np_fail(err, -EOPNOTSUPP,
		       "the numaplace module is loaded, but %s/version is missing; load it again",
		       module_dir);
}

int np_module_probe(struct np_module_info *info, struct np_err *err)
{
	char *text = np_module_read("version");
	int e;

	if (!text)
		return explain_missing(err);
	e = np_module_version_parse(text, info);
	free(text);
	if (e)
		return np_fail(err, -EPROTO,
			       "%s/version is not of a form this tool knows; use the tool and the "
			       "module of one build",
			       module_dir);
	if (info->abi != NUMAPLACE_ABI)
		return np_fail(err, -EPROTO,
			       "the module (version %s) has ABI %u, this tool needs %u: use the "
			       "tool and the module of one build",
			       info->version, info->abi, NUMAPLACE_ABI);
	return 0;
}

int np_module_refused(pid_t pid, const char *what, int e, struct np_err *err)
{
	char whom[24] = "all processes";
	const char *why;

	if (pid)
		snprintf(whom, sizeof(whom), "process %d", pid);
	switch (e) {
	case -EPERM:
		return np_proc_denied(pid, what, err);
	case -ESRCH:
		return np_fail(err, e, "process %d has exited", pid);
	case -ENOENT:
		return np_fail(err, e, "cannot %s %s: the module is not loaded any more", what,
			       whom);
	case -EACCES:
		why = "its cpuset does not allow these nodes";
		break;
	case -ENODEV:
		why = "the node has no memory";
		break;
	case -EINVAL:
		why = "it is a kernel thread or its CPUs are fixed";
		break;
	case -EBUSY:
		why = "no reaction within 5 s, a deadline task, or too many waiting jobs; "
		      "try again";
		break;
	default:
		why = strerror(-e);
	}
	return np_fail(err, e, "the module cannot %s %s: %s", what, whom, why);
}
