# SPDX-License-Identifier: GPL-2.0-only
"""A kernel of the user's own: a series of the cache that is made of links, with both modules built for it.

Its name follows from the image and the folder of its modules, so that another build of the same kernel is another series.
"""

import fcntl
import hashlib
import os
import subprocess
from pathlib import Path

from experiments.lab.errors import UNABLE, USAGE, LabError, print_message
from experiments.lab.kernels import OWN_PREFIX, Kernel, find, get_folder
from experiments.paths import HERE

# The kernel's Documentation/arch/x86/boot.rst: of a bzImage's setup header
MAGIC_AT, MAGIC = 0x202, b"HdrS"
VERSION_AT, SETUP_AT = 0x20E, 0x200


def read_release(image: Path) -> str:
    """Reads the release that a bzImage says it is."""
    try:
        start = image.read_bytes()[:1 << 16]
    except OSError as error:
        raise LabError(USAGE, f"the kernel image {image} cannot be read: {error.strerror}") from error
    at = SETUP_AT + int.from_bytes(start[VERSION_AT:VERSION_AT + 2], "little")
    words = start[at:].partition(b"\0")[0].decode("ascii", "replace").split()
    if start[MAGIC_AT:MAGIC_AT + 4] != MAGIC or not words:
        raise LabError(USAGE, f"{image} is no bzImage of x86: give arch/x86/boot/bzImage of the kernel's build, or a "
                       "distribution's vmlinuz")
    return words[0]


def check_modules(modules: Path, image: Path, release: str):
    """Raises LabError where the folder is not that of the image's modules."""
    if not modules.is_dir():
        raise LabError(USAGE, f"there is no folder {modules} with the modules of {image}")
    if modules.name != release:
        raise LabError(USAGE, f"the modules in {modules} are not of {image}, which is {release}: give the folder "
                       f"lib/modules/{release} that make modules_install has made")


def make_links(place: Path, image: Path, modules: Path | None, release: str):
    """Makes the series `place` of links to the image, its modules and their headers."""
    wanted = {place / "boot" / f"vmlinuz-{release}": image}
    if modules:
        wanted[place / "lib/modules" / release] = modules
        build = modules / "build"
        if build.exists():
            wanted[place / "usr/src" / f"linux-headers-{release}"] = build.resolve()
    for link, target in wanted.items():
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink() or link.readlink() != target:
            link.unlink(missing_ok=True)
            link.symlink_to(target)
    (place / "release").write_text(f"{release}\n", encoding="utf-8")


def build_modules(kernel: Kernel, headers: Path):
    """Builds numaplace.ko and numaplace_lab.ko, by one process at a time."""
    wanted = [HERE.modules / kernel.series / name for name in ("numaplace.ko", "numaplace_lab.ko")]
    if not headers.exists():
        return
    log = HERE.modules / kernel.series / "build.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a+", encoding="utf-8") as output:
        fcntl.flock(output, fcntl.LOCK_EX)
        if not all(path.exists() for path in wanted):
            print_message(f"building the modules for {kernel.release}")
        done = subprocess.run(["make", "-C", HERE.sources, "-f", "setup/modules.mk", f"MODULES={HERE.modules}",
                               f"OWN_KERNEL={kernel.series}", *wanted], stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                              check=False)
    if done.returncode != 0:
        raise LabError(UNABLE, f"the modules cannot be built for kernel {kernel.release} with {headers.resolve()}: see {log}")


def find_own_kernel(image: Path, modules: Path | None) -> Kernel:
    """Returns the kernel of an image as a series of the cache, with both modules built for it."""
    image, modules = image.absolute(), modules and modules.resolve()
    release = read_release(image)
    if modules:
        check_modules(modules, image, release)
    digest = hashlib.sha256(image.read_bytes() + os.fsencode(f"{image}\0{modules}")).hexdigest()[:12]
    place = get_folder() / f"{OWN_PREFIX}{digest}"
    try:
        make_links(place, image, modules, release)
    except OSError as error:
        raise LabError(UNABLE, f"{place} cannot be written, and a kernel of your own is linked there: {error.strerror}") from error
    kernel = find(place.name)
    build_modules(kernel, place / "usr/src" / f"linux-headers-{release}")
    return kernel
