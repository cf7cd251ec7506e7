# SPDX-License-Identifier: GPL-2.0-only
"""Decoding by llama.cpp, a token after the other: each reads all weights once. The model is a llama's with random weights."""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
from pathlib import Path

WIDTH, HEADS, INNER = 512, 8, 1536
ASCII = 128                  # tokens besides the three that there must be: an answer ends within no character, and shows all
LAYER = (4 * WIDTH + 3 * INNER) * WIDTH * 2
PROMPT, CONTEXT = 8, 256     # tokens


def make(path: Path, mib: int, seed: int) -> None:
    """In BF16, of which sign and mantissa are drawn: neither that nor the products cost a simulated machine much."""
    import gguf  # each command imports its own: that takes seconds in the lab
    import numpy as np

    random = np.random.default_rng(seed)
    file = gguf.GGUFWriter(path, "llama")

    def matrix(name: str, rows: int, columns: int) -> None:
        size = 127 - math.ceil(math.log2(columns) / 2) << 7   # near 1 / sqrt(columns), so that sums are near 1
        drawn = random.integers(1 << 16, size=(rows, columns), dtype=np.uint16) & 0x807f | size
        file.add_tensor(name, drawn.view(np.uint8), raw_dtype=gguf.GGMLQuantizationType.BF16)

    def ones(name: str) -> None:
        file.add_tensor(name, np.ones(WIDTH, dtype=np.float32))

    layers = max(1, (mib << 20) // LAYER)
    file.add_block_count(layers)
    file.add_context_length(CONTEXT)
    file.add_embedding_length(WIDTH)
    file.add_feed_forward_length(INNER)
    file.add_head_count(HEADS)
    file.add_head_count_kv(HEADS)
    file.add_layer_norm_rms_eps(1e-5)
    file.add_tokenizer_model("llama")
    file.add_token_list(["<unk>", "<s>", "</s>", *(f"<0x{code:02X}>" for code in range(ASCII))])
    file.add_token_scores([0.0] * (3 + ASCII))
    file.add_token_types([gguf.TokenType.UNKNOWN, *[gguf.TokenType.CONTROL] * 2, *[gguf.TokenType.BYTE] * ASCII])
    matrix("token_embd.weight", 3 + ASCII, WIDTH)
    matrix("output.weight", 3 + ASCII, WIDTH)
    ones("output_norm.weight")
    for k in range(layers):
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            matrix(f"blk.{k}.{name}.weight", WIDTH, WIDTH)
        for name, rows, columns in (("ffn_gate", INNER, WIDTH), ("ffn_up", INNER, WIDTH), ("ffn_down", WIDTH, INNER)):
            matrix(f"blk.{k}.{name}.weight", rows, columns)
        ones(f"blk.{k}.attn_norm.weight")
        ones(f"blk.{k}.ffn_norm.weight")
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()


def decode(path: Path, threads: int, tokens: int, rounds: int) -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    # Weights are the process's own memory, not the page cache's, and lie as they do in the file.
    params.load_mode, params.no_extra_bufts = xllamacpp.llama_load_mode.LLAMA_LOAD_MODE_NONE, True
    params.offline, params.warmup, params.fit_params, params.ui = True, False, False, False
    params.n_ctx, params.n_parallel, params.n_threads_http, params.cache_ram_mib = CONTEXT, 1, 1, 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.verbosity = 0
    server = xllamacpp.Server(params)
    print("ready: the weights are in memory", flush=True)
    asked = {"prompt": [1, *(3 + 7 * k % ASCII for k in range(1, PROMPT))], "n_predict": tokens, "ignore_eos": True, "temperature": 0,
             "cache_prompt": False, "n_probs": 1}
    found = [server.handle_completions(asked) for _ in range(rounds)]
    words = [[part["id"] for part in answer["choices"][0]["logprobs"]["content"]] for answer in found]
    # The chance of a token is a share of the sum over all logits, so that one that is no number shows in every chance.
    chances = [part["logprob"] for answer in found for part in answer["choices"][0]["logprobs"]["content"]]
    right = all(same == words[0] and len(same) == tokens for same in words) and all(map(finite, chances))
    rates = [answer["timings"]["predicted_per_second"] for answer in found]
    print(json.dumps({"tokens_per_second": statistics.harmonic_mean(rates), "right": right}), flush=True)
    # Its pages are looked at until it has ended: the library would give them back long before.
    os._exit(0)


def finite(chance: float | None) -> bool:
    """JSON has null for what is no number."""
    return chance is not None and math.isfinite(chance)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("what", choices=["make", "decode"])
    options.add_argument("file", type=Path)
    options.add_argument("--mib", type=int, default=1)
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--tokens", type=int, default=48)
    options.add_argument("--rounds", type=int, default=2)
    args = options.parse_args()
    if args.what == "make":
        make(args.file, args.mib, args.seed)
    else:
        decode(args.file, args.threads, args.tokens, args.rounds)


if __name__ == "__main__":
    main()
