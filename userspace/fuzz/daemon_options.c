// SPDX-License-Identifier: GPL-2.0-only
/* The file of the daemon's options. They are read, not carried out. */
#include "../cmd/cmd.h"
#include "../cmd/daemon_args.h"
#include "fuzz.h"

const char *const fuzz_seeds[] = {
	"policy=maximum-local\ninterval=1s\n#cgroup=/system.slice\nmetrics=/x.prom\n",
	" policy=n-mass:pages=follow \noption=hysteresis=0.05\ntrial=500ms\nrate=64MiB/s\nmax-stall=5ms\nassume=penalty=1.5,mpki=2\n",
	"min-gain=1.05\nplans=3\nwindow=30\nback-off=60\nmin-busy=0.1\nmin-size=64M\ncount=16\nreading=0.2\nno-trial\nleave\npages\n",
	"exclude=ssh*\nuser=root\ncommand=redis\ncgroup=/a\nengine=syscall\nevents=e\noverride\npolicy-timeout=0\n",
	NULL,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64], *argv[] = { "daemon", "--options", path, NULL };
	static FILE *quiet; /* for the errors; libFuzzer has kept the first stderr */
	struct np_daemon_args a;
	int fd = fuzz_file(data, size, path), status;

	if (!quiet)
		quiet = stderr = fopen("/dev/null", "w");
	status = np_daemon_args_read(&a, 3, argv);
	FUZZ_CLAIM(status == NP_EXIT_OK || status == NP_EXIT_USAGE);
	FUZZ_CLAIM(status || a.interval_us > 0);
	np_daemon_args_free(&a);
	close(fd);
	return 0;
}
