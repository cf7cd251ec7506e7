# SPDX-License-Identifier: GPL-2.0-only
"""A real systemd with numaplace's unit: the first process of namespaces of its own."""
import re
import shutil
import subprocess
from pathlib import Path

from placed import ROOT, TOOL, wait_until

SYSTEMD = Path("/lib/systemd/systemd")
INSIDE = """set -e
mount --make-rprivate /
mount -t tmpfs tmpfs /run && mkdir /run/systemd
mount -t tmpfs tmpfs /usr/local/bin && cp "$1" /usr/local/bin/numaplace
umount -l /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup
export container=lab SYSTEMD_UNIT_PATH="$2" SYSTEMD_GENERATOR_PATH=/none SYSTEMD_ENVIRONMENT_GENERATOR_PATH=/none
exec /lib/systemd/systemd --system --unit=basic.target --log-target=console --show-status=no
"""


class Systemd:
    def __init__(self, units: Path) -> None:
        for name in ("sysinit", "basic", "shutdown"):
            shutil.copy(f"/lib/systemd/system/{name}.target", units)
        shutil.copy(ROOT / "userspace" / "numaplace.service", units)
        self.unshare = subprocess.Popen(
            ["unshare", "--pid", "--fork", "--kill-child", "--mount", "--uts", "--ipc", "--cgroup", "--mount-proc",
             "sh", "-c", INSIDE, "sh", TOOL, units])
        wait_until(lambda: self.children(self.unshare.pid) != [])
        (self.pid,) = self.children(self.unshare.pid)
        wait_until(lambda: self.run_ctl("is-system-running").stdout.strip() in ("running", "degraded"))

    @staticmethod
    def children(pid: int) -> list[int]:
        return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))

    def list_inside(self, *words: object) -> list[str]:
        return ["nsenter", "-t", str(self.pid), "-m", "-p", "-C", *map(str, words)]

    def run_ctl(self, *words: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.list_inside("systemctl", *words), capture_output=True, text=True, timeout=120, check=False)

    def does(self, verb: str) -> None:
        done = self.run_ctl(verb, "numaplace")
        assert done.returncode == 0, done.stderr + self.run_ctl("status", "-l", "numaplace").stdout

    def shows(self, name: str) -> str:
        return self.run_ctl("show", "--value", "-p", name, "numaplace").stdout.strip()

    def metric(self, pattern: str) -> str | None:
        """Its first group, in the metrics file as it is now."""
        try:
            found = re.search(pattern, Path(f"/proc/{self.pid}/root/run/numaplace/numaplace.prom").read_text())
        except FileNotFoundError:
            return None
        return found and found[1]

    def end(self) -> None:
        self.unshare.kill()
        self.unshare.wait()
