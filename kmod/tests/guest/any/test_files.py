# SPDX-License-Identifier: GPL-2.0-only
"""The module's files: modes, permissions, refused input."""

import ctypes
import errno
import mmap
import os
import random
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor

import driver
import pytest
from driver import DIR, refusal

MODES = {"version": 0o444, "place": 0o200, "placements": 0o400, "restore": 0o200, "migrate": 0o600,
         "stats": 0o400}
WRITABLE = [name for name, mode in MODES.items() if mode & 0o200]
READABLE = [name for name, mode in MODES.items() if mode & 0o400 and name != "migrate"]
MAP_32BIT = 0x40  # of mmap(2); Python has no name for it
pytestmark = pytest.mark.quick


def test_files_modes():
    assert {f: stat.S_IMODE(os.stat(DIR / f).st_mode) for f in os.listdir(DIR)} == MODES


def test_version_pos():
    assert driver.records("version") == [{"numaplace": "0.1.0", "abi": "2"}]


NO_LINES = [
    (b"\n", "EINVAL"), (b" ", "EINVAL"), (b"=", "EINVAL"), (b"pid", "EINVAL"), (b"pid=", "EINVAL"),
    (b"pid=1\0", "EINVAL"), (b"\0" * 100, "EINVAL"), (b"pid=1x", "EINVAL"), (b"pid=+1", "EINVAL"),
    (b"pid=99999999999999999999", "EINVAL"), (b"what=1", "EINVAL"), (b"pid=1\npid=2\n", "EINVAL"),
    (b"x" * 4096, "EINVAL"), (b"x" * 4097, "E2BIG"), (b"x" * (1 << 20), "E2BIG"),
]


@pytest.mark.parametrize("name", WRITABLE)
def test_write_neg(name):
    before = driver.stats(), driver.records("placements")
    assert [(line, refusal(name, line)) for line, _ in NO_LINES] == NO_LINES
    assert (driver.stats(), driver.records("placements")) == before


@pytest.mark.parametrize("name", WRITABLE)
def test_write_huge_count_neg(name):
    """A length without memory behind it must not make the kernel allocate as much."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.write.argtypes = ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t
    with open(DIR / name, "wb", buffering=0) as file:
        assert libc.write(file.fileno(), low_text(b"pid=1"), 0xffffffff) == -1
    assert ctypes.get_errno() == errno.E2BIG


def low_text(text: bytes) -> int:
    """The address of a copy under 2 GiB: at the end of user space 4 GiB more end in EFAULT, before the module is asked."""
    libc = ctypes.CDLL(None)
    libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 4
    address = libc.mmap(None, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE,
                        mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_32BIT, -1, 0)
    assert 0 < address < 1 << 31
    ctypes.memmove(address, text, len(text))
    return address


NO_MOVES = [
    ("pid={pid} from=0", "EINVAL"), ("pid={pid} to=1", "EINVAL"), ("from=0 to=1", "EINVAL"),
    ("pid={pid} from=0 to=7", "ENODEV"), ("pid={pid} from=0 to=99999", "ENODEV"),
    ("pid={pid} from=7 to=1", "ENODEV"), ("pid={pid} from=0-99999 to=1", "ENODEV"),
    ("pid={pid} from= to=1", "EINVAL"), ("pid={pid} from=1-0 to=1", "EINVAL"),
    ("pid={pid} from=all to=1", "EINVAL"), ("pid={pid} from=0 to=-1", "EINVAL"),
    ("pid={pid} from=0 to=1 start=0x1000", "EINVAL"),
    ("pid={pid} from=0 to=1 start=0x2000 end=0x1000", "EINVAL"),
    ("pid={pid} from=0 to=1 start=0x1001 end=0x2000", "EINVAL"),
    ("pid={pid} from=0 to=1 start=0x1000 end=0x10000000000000000", "EINVAL"),
    ("pid={pid} from=0 to=1 max_stall_us=99", "EINVAL"), ("pid={pid} from=0 to=1 pause=never", "EINVAL"),
    ("pid={pid} from=0 to=1 split=2", "EINVAL"), ("pid=4194305 from=0 to=1", "ESRCH"),
    ("pid=2 from=0 to=1", "EINVAL"),
]


def test_migrate_neg():
    before = driver.stats()
    got = [(line, refusal("migrate", line.format(pid=os.getpid()))) for line, _ in NO_MOVES]
    assert got == NO_MOVES
    assert driver.stats() == before


def test_migrate_reply_is_of_the_open_file(target):
    t = target("anon", 4)
    first, second = (os.open(DIR / "migrate", os.O_RDWR) for _ in range(2))
    assert os.read(first, 100) == b""
    for fd, to in ((first, 1), (second, 1), (first, 0)):
        os.write(fd, f"pid={t.pid} from=any to={to} {t.range()}".encode())
    replies = [driver.record(os.read(fd, 1000).decode()) for fd in (first, second)]
    assert [driver.counts(reply) for reply in replies] == [{"moved": 4}, {"already": 4}]
    assert all(int(reply["next"], 16) == t.end for reply in replies)
    assert os.read(first, 100) == b""
    assert os.pread(first, 6, 0) == b"error="
    assert os.write(first, b"pid=1 from=any to=1 start=0x1000 end=0x2000")
    with pytest.raises(OSError):
        os.write(first, f"pid={t.pid} from=0 to=1 start=1".encode())
    os.close(first)
    os.close(second)


def test_migrate_reply_while_somebody_writes(target):
    """A reader does not wait, as the next one could not be killed; the reply is there afterwards."""
    t = target("sparse", 32768)
    fd, refused = os.open(DIR / "migrate", os.O_RDWR), 0
    with ThreadPoolExecutor(1) as writer:
        writing = writer.submit(os.write, fd, f"pid={t.pid} from=any to=1 {t.range()}".encode())
        while not writing.done():
            try:
                os.pread(fd, 4096, 0)
            except OSError as error:
                assert error.errno == errno.EBUSY
                refused += 1
    assert writing.result() and refused
    assert driver.counts(driver.record(os.pread(fd, 4096, 0).decode())) == {"moved": 32768}
    os.close(fd)


@pytest.mark.parametrize("name", READABLE)
def test_read_in_pieces(target, name):
    t = target("anon", 4)
    t.move("0", 1)
    driver.write("place", f"pid={t.pid} cpus=1")
    whole = (DIR / name).read_bytes()
    fd = os.open(DIR / name, os.O_RDONLY)
    pieces = b""
    while piece := os.read(fd, 7):
        pieces += piece
    os.close(fd)
    assert pieces == whole


def test_open_by_nobody_neg(unprivileged):
    """The folder above is root's alone as a rule: the files must refuse by themselves."""
    def act() -> int:
        for name in MODES:
            try:
                os.close(os.open(DIR / name, os.O_WRONLY if name in WRITABLE else os.O_RDONLY))
                if name != "version":
                    return 1
            except PermissionError:
                pass
        return 0

    mode = stat.S_IMODE(os.stat("/sys/kernel/debug").st_mode)
    os.chmod("/sys/kernel/debug", 0o755)
    try:
        assert unprivileged(act) == 0
    finally:
        os.chmod("/sys/kernel/debug", mode)


@pytest.mark.parametrize("name", WRITABLE)
def test_write_by_nobody_through_open_file_neg(target, unprivileged, name):
    """A descriptor that root opened is refused for an unprivileged writer, who does not clear what root has moved by it."""
    t = target("anon", 1)
    fd = os.open(DIR / name, os.O_RDWR if name == "migrate" else os.O_WRONLY)
    if name == "migrate":
        os.write(fd, f"pid={t.pid} from=0 to=0".encode())

    def act() -> int:
        try:
            os.write(fd, f"pid={t.pid} cpus=1 from=0 to=1".encode())
        except OSError as error:
            return error.errno
        return 0

    assert unprivileged(act) == errno.EPERM
    assert name != "migrate" or os.pread(fd, 6, 0) == b"error="
    os.close(fd)


def test_write_by_root_through_file_of_nobody_neg():
    """A privileged program cannot be made to write to a descriptor of another opener."""
    os.chmod("/sys/kernel/debug", 0o755)
    os.chmod(DIR / "restore", 0o222)
    try:
        os.seteuid(65534)
        try:
            fd = os.open(DIR / "restore", os.O_WRONLY)
        finally:
            os.seteuid(0)
        with pytest.raises(PermissionError):
            os.write(fd, b"all")
        os.close(fd)
    finally:
        os.chmod(DIR / "restore", 0o200)
        os.chmod("/sys/kernel/debug", 0o700)


def test_pid_is_of_the_writers_namespace(target):
    t = target("anon", 16)
    line = f"pid={t.pid} from=0 to=1 {t.range()}"
    done = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c",
                           f"/bin/echo {line} >{DIR}/migrate"], capture_output=True, text=True, check=False)
    assert "No such process" in done.stderr
    assert t.where() == {"0": 16}


def test_write_random_neg():
    """Nothing that is not a line of the grammar has an effect."""
    seed = random.Random(20250)
    words = ["pid=", "tid=", "all", "cpus=", "mem=caller", "from=", "to=", "start=", "end=", "=",
             " ", "\t", "0x", "node:", ",", "-", "99999999999", "\n", "\0", "\xff", "any"]
    before = driver.records("placements")
    moves = driver.stats()["moves"]
    for _ in range(3000):
        line = "".join(seed.choice(words) for _ in range(seed.randrange(1, 12)))
        if "pid=" in line or "tid=" in line or line.strip() == "all":
            line += " nonsense=1"
        refusal(seed.choice(WRITABLE), line.encode("latin-1"))
    assert driver.records("placements") == before
    assert driver.stats()["moves"] == moves
