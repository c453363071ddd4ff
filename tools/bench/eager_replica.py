"""Compares medley's steps with the same steps in eager PyTorch: first that they give the same, then how long they take.

Run by tools/bench/eager, which sets PyTorch up. Steps are timed in rounds: one of medley's, one of the replica as one writes
it (plain), one of that under torch.compile (compiled), one of the replica with medley's operators (same), each while the others
wait; ratios are taken within a round.
"""

import argparse
import ctypes
import functools
import itertools
import json
import logging
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import safetensors.torch
import torch
from torch.profiler import ProfilerActivity, profile

from eager_model import Plain, Same, Step, load_agent

LOGIT_TOLERANCE = 1e-3
PICTURE_TOLERANCE = 1 / 255
GRADIENT_TOLERANCE = 5e-6
SUM_TOLERANCE = 1e-5
WARM_UP = 3


class Draw:
    """What medley_bench_step wrote: a draw's rows as its passes hand them to the model, and what medley made of them."""

    def __init__(self, folder):
        self.facts = json.loads((folder / "draw.json").read_text())
        tensors = safetensors.torch.load_file(folder / "draw.safetensors")
        self.pictures = with_prefix(tensors, "picture.")
        self.gradient = with_prefix(tensors, "gradient.")
        self.inputs, self.outputs = {}, {}
        for a_pass in self.facts["passes"]:
            own = with_prefix(tensors, a_pass["name"] + ".")
            self.outputs[a_pass["name"]] = {name: own.pop(name) for name in a_pass["wanted"]}
            self.inputs[a_pass["name"]] = own


def with_prefix(tensors, prefix):
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


class Medley:
    """A process of medley's that runs a step when it is told to."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.read("ready\n")

    def read(self, expected=None):
        line = self.process.stdout.readline()
        if not line or expected not in (None, line):
            sys.exit(f"eager: medley_bench_step ended, or said {line!r}")
        return line

    def step(self):
        """Milliseconds."""
        return self.cost()[0]

    def cost(self):
        """Milliseconds and the peak in bytes."""
        self.process.stdin.write("step\n")
        self.process.stdin.flush()
        milliseconds, peak = self.read().split()
        return float(milliseconds), int(peak)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Replica:
    def __init__(self, draw, form, run, compiled=False):
        weights = safetensors.torch.load_file(pathlib.Path(draw.facts["checkpoint"]) / "model.safetensors")
        self.agent = load_agent(draw.facts, weights, form)
        self.picture_bytes = sum(picture.nbytes for picture in draw.pictures.values())
        if compiled:  # what a step calls; passes of unlike shapes are compiled each
            self.agent.compile()
            self.agent.img_enc.compile()
        self.work = Step(self.agent, draw)
        self.run = functools.partial(run, self.work)

    def step(self):
        """Milliseconds. As in medley, the last step's gradients are gone before."""
        self.agent.zero_grad()
        start = time.perf_counter()
        self.run()
        return 1000 * (time.perf_counter() - start)

    def peak(self):
        """Bytes above what is there before a step, and those of the pictures, which medley makes floats of in a step."""
        self.agent.zero_grad()
        self.work.keeps_outputs = False
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True, acc_events=True) as profiled:
            self.run()
        events = [event for event in profiled.profiler.kineto_results.events() if event.name() == "[memory]"]
        sizes = (event.nbytes() for event in sorted(events, key=lambda event: event.start_ns()))
        return self.picture_bytes + max(itertools.accumulate(sizes))


def parity(name, replica, draw):
    """Whether a step of the replica gives what medley's gave; prints each figure, with its bar where it fails."""
    replica.agent.zero_grad()
    outputs, sums = replica.run()
    expected = {term: facts["sum"] for term, facts in draw.facts["terms"].items()}
    figures = {
        "other replies": (differing_tokens(outputs, draw), 0),
        "logits": (largest_difference("logits", outputs, draw), LOGIT_TOLERANCE),
        "pictures": (max(largest_difference(name, outputs, draw) for name in ("image", "drawing")), PICTURE_TOLERANCE),
        "losses": (max(abs(sums[term] / value - 1) for term, value in expected.items()), SUM_TOLERANCE),
        "gradient": (gradient_error(name, replica.agent, draw), GRADIENT_TOLERANCE),
    }
    words = [f"{what} {found:.2g}" + ("" if found <= bar else f" ABOVE {bar:.2g}") for what, (found, bar) in figures.items()]
    print(f"parity: {name}: " + ", ".join(words))
    return all(found <= bar for found, bar in figures.values())


def pairs(output, outputs, draw):
    """Of each pass that has it, the replica's and medley's."""
    return [(outputs[name][output].detach(), own[output]) for name, own in draw.outputs.items() if output in own]


def differing_tokens(outputs, draw):
    replies = sum(int((a.argmax(-1) != b.argmax(-1)).sum()) for a, b in pairs("logits", outputs, draw))
    return replies + sum(int((a != b).sum()) for a, b in pairs("targets", outputs, draw))


def largest_difference(output, outputs, draw):
    return max((float((a - b).abs().max()) for a, b in pairs(output, outputs, draw)), default=0.0)


def gradient_error(name, agent, draw):
    """Norm of the difference / norm, over all parameters."""
    found = {name: p.grad for name, p in agent.named_parameters() if p.grad is not None}
    if found.keys() != draw.gradient.keys():
        sys.exit(f"eager: {name}: gradients of other parameters: {sorted(found.keys() ^ draw.gradient.keys())}")
    difference = sum(float((found[n].double() - g).square().sum()) for n, g in draw.gradient.items())
    return (difference / sum(float(g.double().square().sum()) for g in draw.gradient.values())) ** 0.5


def time_rounds(contestants, rounds):
    """Milliseconds by name, one of each a round. Who follows whom changes, so that all inherit caches alike."""
    orders = list(itertools.permutations(contestants))
    times = {name: [] for name in contestants}
    for i in range(-WARM_UP, rounds):
        for name in orders[i % len(orders)]:
            time.sleep(0.01)  # the threads of who ran before spin for a moment
            milliseconds = contestants[name].step()
            if i >= 0:
                times[name].append(milliseconds)
    return times


def ratio(times, other):
    ratios = [ours / theirs for ours, theirs in zip(times["medley"], times[other])]
    return f"**{statistics.median(ratios):.2f}** ({min(ratios):.2f}-{max(ratios):.2f})"


def compare(args, task, mode, threads):
    """A line of the table, and whether both forms gave what medley gives."""
    torch.set_num_threads(threads)
    with tempfile.TemporaryDirectory() as folder:
        medley = Medley(
            [args.program, args.checkpoint, task, folder, "device=cpu", f"threads={threads}", f"tasks.{task}.mode={mode}"]
        )
        draw = Draw(pathlib.Path(folder))
    how = Step.sequential if mode == "sequential" else Step.joint
    replicas = {
        "plain": Replica(draw, Plain, how),
        "compiled": Replica(draw, Plain, how, compiled=True),
        "same": Replica(draw, Same, how),
    }
    if draw.facts["torch"] != torch.__version__.partition("+")[0]:
        print(f"medley has libtorch {draw.facts['torch']}: the comparison is of two versions")
    holds = [parity(f"{task}, {mode}, threads {threads}, {name}", r, draw) for name, r in replicas.items()]
    times = time_rounds({"medley": medley, **replicas}, args.steps)
    peaks = [medley.cost()[1], *(replica.peak() for replica in replicas.values())]
    medley.close()
    medians = [f"{statistics.median(times[name]):.1f}" for name in ("medley", *replicas)]
    cells = [task, draw.facts["rows"], mode, threads, *medians, *(ratio(times, name) for name in replicas)]
    return [*cells, *(f"{peak / 1e6:.1f}" for peak in peaks)], all(holds)


def cpu():
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(": ", 1)[1] for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def keep_freed_memory():
    """glibc's malloc as core/memory/cpu_allocator.cc sets it: without it each step pays again for the same pages."""
    libc = ctypes.CDLL(None)
    for option, value in ((-4, 0), (-1, -1), (-2, 64 << 20)):  # M_MMAP_MAX, M_TRIM_THRESHOLD, M_TOP_PAD
        libc.mallopt(option, value)


def parse():
    parser = argparse.ArgumentParser(prog="tools/bench/eager")
    parser.add_argument("--checkpoint", required=True, help="a run's directory, or one of its checkpoints")
    parser.add_argument("--program", required=True, help="medley_bench_step")
    parser.add_argument("--steps", type=int, default=30, help="timed rounds")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--tasks", default="position_qa,zoom_gold,control")
    parser.add_argument("--modes", default="joint,sequential", help="of all three")
    parser.add_argument("--keep-freed", action="store_true", help="give the replica medley's settings of malloc, too")
    return parser.parse_args()


def main():
    args = parse()
    torch._logging.set_logs(dynamo=logging.ERROR)  # that the length of a text is read from its tensor is meant
    if args.keep_freed:
        keep_freed_memory()
    print(f"torch {torch.__version__}, Python {platform.python_version()}; {os.cpu_count()} cores, {cpu()}")
    print(f"{args.checkpoint}; medians of {args.steps} rounds, least and most in brackets")
    print("malloc of the replica: " + ("keeps what is freed, as medley's" if args.keep_freed else "as Python has it"))
    lines, all_hold = [], True
    for task, mode, threads in itertools.product(
        args.tasks.split(","), args.modes.split(","), map(int, args.threads.split(","))
    ):
        line, holds = compare(args, task, mode, threads)
        lines.append(line)
        all_hold &= holds
    others = ["plain", "compiled", "same operators"]
    head = ["task", "rows", "mode", "threads", "medley, ms", *(f"{name}, ms" for name in others)]
    head += [*(f"medley / {name}" for name in others), "peak: medley, MB", *(f"{name}, MB" for name in others)]
    print()
    for line in [head, ["---"] * len(head), *lines]:
        print("| " + " | ".join(map(str, line)) + " |")
    sys.exit(0 if all_hold else "eager: the replica and medley differ")


if __name__ == "__main__":
    main()
