"""Times forward and backward of a Hugging Face folder's language in medley and in transformers, on the same batch.

    tools/bench/language FOLDER [--dtype fp32|bf16] [--rows N] [--width N] [--rounds N] [--threads N]

Of each round medley goes first, then transformers, each in a process of its own, two steps after one that is not counted; ratios
are medians of those within a round, least and most in brackets. The losses must agree. A FOLDER that is not there is made, with
random weights of Qwen3-0.6B's shapes. MEDLEY_BENCH_BUILD=<a build folder> takes the program from there instead of build/release.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("MEDLEY_BENCH_BUILD", ROOT / "build/release")) / "bin/medley_bench_language"
STEPS = 2


def time_transformers(arguments):
    """As medley_bench_language, but for the bytes."""
    import torch
    from transformers import AutoModelForCausalLM
    torch.set_num_threads(arguments.threads)
    dtype = torch.bfloat16 if arguments.dtype == "bf16" else torch.float32
    model = AutoModelForCausalLM.from_pretrained(arguments.folder, dtype=dtype, attn_implementation="sdpa").train()
    tokens = (torch.arange(arguments.rows * arguments.width) * 7919).remainder(model.config.vocab_size)
    tokens = tokens.view(arguments.rows, arguments.width)
    for step in range(-1, STEPS):
        start = time.monotonic()
        logits = model(tokens, use_cache=False).logits.float()
        loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        spent = time.monotonic() - start
        model.zero_grad(set_to_none=True)
        if step >= 0:
            print(f"{1000 * spent:.1f}")
    print(f"{loss.item():.6f} 0")


def run(command):
    *steps, last = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout.split("\n")[:-1]
    loss, peak = last.split()
    return statistics.median(map(float, steps)), float(loss), int(peak)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--dtype", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--rows", type=int, default=4)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--transformers", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.transformers:
        return time_transformers(arguments)
    sizes = [arguments.dtype, arguments.rows, arguments.width]
    medleys = [PROGRAM, arguments.folder, *sizes, STEPS, arguments.threads]
    others = [sys.executable, __file__, *sys.argv[1:], "--transformers"]
    rounds = [(run(medleys), run(others)) for _ in range(arguments.rounds)]
    (_, loss, peak), (_, other, _) = rounds[-1]
    if abs(loss - other) > (0.03 if arguments.dtype == "bf16" else 1e-4) * abs(other):
        sys.exit(f"the losses are {loss} and {other}: not the same computation")
    ratios = [own / theirs for (own, *_), (theirs, *_) in rounds]
    own, theirs = (statistics.median(both[side][0] for both in rounds) for side in (0, 1))
    print(f"{arguments.rows} rows of {arguments.width}, {arguments.dtype}: medley {own:.0f} ms, transformers {theirs:.0f} ms, "
          f"{statistics.median(ratios):.2f} of its time ({min(ratios):.2f}-{max(ratios):.2f}); losses {loss:.4f} and {other:.4f}; "
          f"medley's peak beside the weights {peak / 1e9:.2f} GB")
    return None


if __name__ == "__main__":
    main()
