# SPDX-License-Identifier: GPL-2.0-only
"""Permissions: as for move_pages(2) on a process of another user, and never half of an action."""

import subprocess

import driver
import pytest

NOBODY = "--reuid=65534 --regid=65534 --clear-groups"


def setpriv(words: str) -> tuple[str, ...]:
    return ("setpriv", *words.split())


def caps(names: str) -> str:
    return f"--inh-caps={names} --ambient-caps={names}"


# The writer, and whether the system call and the module are to permit it.
WRITERS = {
    "root": ((), True),
    "nobody with all it takes": (setpriv(f"{NOBODY} {caps('+sys_nice,+sys_ptrace,+dac_override')}"), True),
    "root without CAP_SYS_NICE": (setpriv("--bounding-set=-sys_nice"), False),
    "root without CAP_SYS_PTRACE": (setpriv("--bounding-set=-sys_ptrace"), False),
    "nobody": (setpriv(NOBODY), False),
    "nobody with CAP_SYS_NICE": (setpriv(f"{NOBODY} {caps('+sys_nice,+dac_override')}"), False),
    "root of a user namespace": (("unshare", "--user", "--map-root-user"), False),
}
# The reference is MPOL_MF_MOVE_ALL, which needs CAP_SYS_NICE also for pages of the same user, as the module does.
BY_SYSTEM_CALL = """
import ctypes, sys
numa = ctypes.CDLL("libnuma.so.1", use_errno=True)
page, node, status = ctypes.c_void_p(int(sys.argv[2], 16)), ctypes.c_int(1), ctypes.c_int(-1)
done = numa.numa_move_pages(int(sys.argv[1]), 1, ctypes.byref(page), ctypes.byref(node), ctypes.byref(status), 4)
sys.exit(ctypes.get_errno() if done else 0)
"""


@pytest.fixture
def of_another_user(target):
    """A target of user daemon that was root: it does not let itself be read."""
    return target("anon", 8, wrap=setpriv("--reuid=1 --regid=1 --clear-groups"))


@pytest.mark.parametrize("who", WRITERS)
def test_permission_matrix(of_another_user, who):
    t = of_another_user
    wrap, may = WRITERS[who]
    call = subprocess.run([*wrap, "/usr/bin/python3", "-c", BY_SYSTEM_CALL, str(t.pid), hex(t.start)], check=False)
    assert (call.returncode == 0) == may
    moved = t.where().get("1", 0)
    assert moved == may
    placed = driver.records("placements")
    for name, line in (("migrate", f"pid={t.pid} from=0 to=1 {t.range()}"), ("place", f"pid={t.pid} cpus=2"),
                       ("restore", f"pid={t.pid}")):
        written = subprocess.run([*wrap, "sh", "-c", f"/bin/echo '{line}' >{driver.DIR}/{name}"],
                                 capture_output=True, text=True, check=False)
        assert (written.returncode == 0) == may, (name, written.stderr)
        if not may:
            assert "not permitted" in written.stderr or "ermission denied" in written.stderr
    assert driver.eventually(lambda: t.where().get("1", 0) == (8 if may else 0))
    assert driver.records("placements") == placed


def same_mistake(pid: int, node: int) -> tuple[str, str]:
    """The errors of move_pages(2) and of the module."""
    call = ("import ctypes, errno\n"
            "numa = ctypes.CDLL('libnuma.so.1', use_errno=True)\n"
            "page, node, status = ctypes.c_void_p(4096), ctypes.c_int(%d), ctypes.c_int(0)\n"
            "done = numa.numa_move_pages(%d, 1, ctypes.byref(page), ctypes.byref(node), ctypes.byref(status), 4)\n"
            "print(errno.errorcode[ctypes.get_errno()] if done else '')" % (node, pid))
    done = subprocess.run(["/usr/bin/python3", "-c", call], capture_output=True, text=True, check=True)
    return done.stdout.strip(), driver.refusal("migrate", f"pid={pid} from=any to={node}")


def test_errno_is_that_of_move_pages_neg(target):
    """Of a process that is not there, a kernel thread, a node that is not there or out of every range."""
    t = target("anon", 4)
    zombie = subprocess.Popen(["/bin/true"])
    assert driver.eventually(lambda: "zombie" in open(f"/proc/{zombie.pid}/status", encoding="ascii").read())
    asked = {"no process": (4194305, 1), "kernel thread": (2, 1), "no node": (t.pid, 7), "beyond": (t.pid, 1 << 20)}
    found = {what: same_mistake(*words) for what, words in asked.items()}
    assert {what: ours for what, (_, ours) in found.items()} == {what: theirs for what, (theirs, _) in found.items()}
    assert "" not in [theirs for theirs, _ in found.values()]
    assert driver.refusal("migrate", f"pid={zombie.pid} from=any to=1") == "ESRCH"  # has no mm: the call says EINVAL
    zombie.wait()
