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
SETUP_BYTES = 1 << 16  # at the image's begin: the setup code with its header and the version's text
DIGITS = 12  # of a digest, in a series' name


def read_release(image: Path) -> str:
    """Reads the release that a bzImage says it is. LabError: it cannot be read, or is no bzImage."""
    try:
        start = image.read_bytes()[:SETUP_BYTES]
    except OSError as error:
        raise LabError(USAGE, f"the kernel image {image} cannot be read: {error.strerror}") from error
    at = SETUP_AT + int.from_bytes(start[VERSION_AT:VERSION_AT + 2], "little")
    words = start[at:].partition(b"\0")[0].decode("ascii", "replace").split()
    if start[MAGIC_AT:MAGIC_AT + len(MAGIC)] != MAGIC or not words:
        raise LabError(USAGE, f"{image} is no bzImage of x86: give arch/x86/boot/bzImage of the kernel's build, or a "
                       "distribution's vmlinuz")
    return words[0]


def check_modules(modules: Path, image: Path, release: str):
    """Checks that the folder `modules` is there and has the image's release as its name. LabError: not so."""
    if not modules.is_dir():
        raise LabError(USAGE, f"there is no folder {modules} with the modules of {image}")
    if modules.name != release:
        raise LabError(USAGE, f"the modules in {modules} are not of {image}, which is {release}: give the folder "
                       f"lib/modules/{release} that make modules_install has made")


def make_links(place: Path, image: Path, modules: Path | None, release: str):
    """Makes the folder `place` of a series, of links to the image, its modules, if any, and their headers, and the file of its release."""
    targets = {place / "boot" / f"vmlinuz-{release}": image}  # by link
    if modules:
        targets[place / "lib/modules" / release] = modules
        build = modules / "build"
        if build.exists():
            targets[place / "usr/src" / f"linux-headers-{release}"] = build.resolve()
    for link, target in targets.items():
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink() or link.readlink() != target:
            link.unlink(missing_ok=True)
            link.symlink_to(target)
    (place / "release").write_text(f"{release}\n", encoding="utf-8")


def build_modules(kernel: Kernel, headers: Path):
    """Has make build numaplace.ko and numaplace_lab.ko, in one process at a time; does nothing without headers. LabError: it fails."""
    if not headers.exists():
        return
    built = [HERE.modules / kernel.series / name for name in ("numaplace.ko", "numaplace_lab.ko")]
    modules = HERE.modules if HERE.installed else HERE.modules.relative_to(HERE.sources)  # make's names have no blanks
    log = HERE.modules / kernel.series / "build.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a+", encoding="utf-8") as output:
        fcntl.flock(output, fcntl.LOCK_EX)
        if not all(path.exists() for path in built):
            print_message(f"building the modules for {kernel.release}")
        done = subprocess.run(["make", "-C", HERE.sources, "-f", "setup/modules.mk", f"MODULES={modules}",
                               f"OWN_KERNEL={kernel.series}", *(modules / kernel.series / path.name for path in built)],
                              stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False)
    if done.returncode != 0:
        raise LabError(UNABLE, f"the modules cannot be built for kernel {kernel.release} with {headers.resolve()}: see {log}")


def find_own_kernel(image: Path, modules: Path | None) -> Kernel:
    """Makes a series of the cache of an image and its modules, with both of the project's modules built for it. Returns its kernel.
    LabError: image or modules are wrong, or the cache cannot be written."""
    image, modules = image.absolute(), modules and modules.resolve()
    release = read_release(image)
    if modules:
        check_modules(modules, image, release)
    digest = hashlib.sha256(image.read_bytes() + os.fsencode(f"{image}\0{modules}")).hexdigest()[:DIGITS]
    place = get_folder() / f"{OWN_PREFIX}{digest}"
    try:
        make_links(place, image, modules, release)
    except OSError as error:
        raise LabError(UNABLE, f"{place} cannot be written, and a kernel of your own is linked there: {error.strerror}") from error
    kernel = find(place.name)
    build_modules(kernel, place / "usr/src" / f"linux-headers-{release}")
    return kernel
