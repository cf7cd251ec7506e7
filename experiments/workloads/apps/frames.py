# SPDX-License-Identifier: GPL-2.0-only
"""Writes raw I420 frames of 352x288: a pattern that moves, with noise from a seed."""

import argparse
import random

WIDTH, HEIGHT = 352, 288
CHROMA = bytes([128]) * (WIDTH * HEIGHT // 2)
FRAME = WIDTH * HEIGHT + len(CHROMA)  # bytes
NOISE = 8 * WIDTH  # bytes: more than a line, so that lines differ


def build_frame(number: int, noise: bytes) -> bytes:
    """Builds the frame of this number: each line is another part of the noise, which begins farther right in later frames."""
    starts = ((line * 7 + number * 3) % (len(noise) - WIDTH) for line in range(HEIGHT))  # bytes from line to line, frame to frame
    return b"".join(noise[start:start + WIDTH] for start in starts) + CHROMA


def main() -> None:
    """Writes frames to the file, --mib of them."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--mib", type=int, default=8, help="of all frames")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("file")
    args = options.parse_args()
    noise = random.Random(args.seed).randbytes(NOISE)
    with open(args.file, "wb") as out:
        for number in range((args.mib << 20) // FRAME):
            out.write(build_frame(number, noise))


if __name__ == "__main__":
    main()
