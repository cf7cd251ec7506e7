# SPDX-License-Identifier: GPL-2.0-only
"""Writes raw I420 frames of 352x288: a pattern that moves, with noise from a seed."""

import argparse
import random

WIDTH, HEIGHT = 352, 288
CHROMA = bytes([128]) * (WIDTH * HEIGHT // 2)


def build_frame(at: int, noise: bytes) -> bytes:
    """Builds the frame of a number: each line is another part of the noise, later ones farther right by the number."""
    starts = ((line * 7 + at * 3) % (len(noise) - WIDTH) for line in range(HEIGHT))
    return b"".join(noise[start:start + WIDTH] for start in starts) + CHROMA


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--mib", type=int, default=8, help="of all frames")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("file")
    args = options.parse_args()
    noise = random.Random(args.seed).randbytes(8 * WIDTH)
    with open(args.file, "wb") as out:
        for at in range((args.mib << 20) // (WIDTH * HEIGHT * 3 // 2)):
            out.write(build_frame(at, noise))


if __name__ == "__main__":
    main()
