# SPDX-License-Identifier: GPL-2.0-only
"""A profile as the plugin writes it: two threads of a process, its child in another cgroup, and a process of the lab's."""

from pathlib import Path

TEXT = """\
region 0 2 scan
region 1 0 never
note 0 cgroup 1 /
note 0 cgroup 28 /numaplace-lab
note 20 fork 11 10
note 9 exec 10 table
note 10 mmap 10 0x555555554000 4096 0 1 {program}
note 11 mmap 10 0x555555555000 8192 4096 5 {program}
note 12 mmap 10 0x555555557000 4096 12288 3 {program}
note 13 mmap 10 0x555555558000 8192 93824992247808 3 //anon
note 14 mmap 10 0x7ffff7fc8000 8192 0 5 [vdso]
note 15 mmap 10 0x55555555a000 135168 93824992256000 3 //anon
note 16 mmap 10 0x7ffff7000000 10485760 0 3 //anon
note 17 mmap 10 0x7ffff7000000 4096 0 1 /with a blank/file
note 30 cgroup 40 /numaplace-lab/mine
task 0 0 0 0 0 0 0 5 5 5 0,0
task 0 0 1 10 10 28 0 100 50 0 30,0
task 0 0 2 10 10 28 1 200 60 4 10,40
task 3 1 0 10 12 28 1 300 70 0 5,0
task 3 1 1 11 11 40 0 1 1 0 0,20
dram 0 1 0x7ffff7001000 0x555555555010 0 30
dram 0 2 0x7ffff7001000 0x555555555010 0 10
dram 0 2 0x7ffff7002000 0x555555555010 1 25
dram 0 2 0x55555555b000 0x555555556000 1 15
dram 3 0 0x7ffff7001000 0x555555555020 0 5
dram 3 1 0x7ffff7003000 0x555555555020 1 20
end
"""


def write_profile(folder: Path, text: str = TEXT, program: str = "/no/program") -> Path:
    path = folder / "profile"
    path.write_text(text.format(program=program), encoding="utf-8")
    return path
