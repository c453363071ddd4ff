"""Compares medley's runs of several processes with PyTorch's DistributedDataParallel on the eager replica.

Run by tools/bench/eager --ddp N, which sets PyTorch up. A process of the replica's repeats one draw that medley sampled, with the
loop that one writes: forward, backward, clip_grad_norm_, fused AdamW; medley's processes draw their rows anew each step. Each has one
thread. Equal tasks: a step has as many rows of one task a process as one process alone has. Unlike tasks: a step has a draw of each
task, in PyTorch a task a process, in medley as rows cost. Rows a second of all, over the steps behind the warm-up; rounds in turns, medians of the rounds.
"""

import argparse
import json
import os
import pathlib
import platform
import socket
import statistics
import subprocess
import tempfile
import time

import safetensors.torch
import torch
import torch.multiprocessing as processes
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from eager_model import Plain, Step, load_agent
from eager_replica import WARM_UP, Draw, Medley, cpu

ROOT = pathlib.Path(__file__).resolve().parents[2]


class WholeStep(nn.Module):
    """All passes of some draws in one forward, as DistributedDataParallel wants it."""

    def __init__(self, folders):
        super().__init__()
        draws = [Draw(folder) for folder in folders]
        weights = safetensors.torch.load_file(pathlib.Path(draws[0].facts["checkpoint"]) / "model.safetensors")
        self.agent = load_agent(draws[0].facts, weights, Plain)
        self.work = [Step(self.agent, draw) for draw in draws]

    def forward(self):
        return sum(draw.forward()[0] for draw in self.work)


def train(rank, parts, port, steps, seconds):
    """`parts`: of each process the folders of the draws that it computes in a step."""
    torch.set_num_threads(1)
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    distributed.init_process_group("gloo", rank=rank, world_size=len(parts))
    model = WholeStep(parts[rank])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    if len(parts) > 1:
        model = DistributedDataParallel(model, find_unused_parameters=True)
    begin = 0
    for step in range(WARM_UP + steps):
        if step == WARM_UP:
            distributed.barrier()
            begin = time.perf_counter()
        optimizer.zero_grad()
        model().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    distributed.barrier()
    seconds[rank] = time.perf_counter() - begin
    distributed.destroy_process_group()


def replica_rate(parts, rows, steps):
    """Rows a second; a step of all processes has so many rows."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    seconds = torch.zeros(len(parts)).share_memory_()
    processes.spawn(train, (parts, port, steps, seconds), nprocs=len(parts))
    return rows * steps / float(seconds.max())


def medley_rate(args, rows, count):
    """The same of a run of so many processes, each of whose steps has a draw of every task with so many rows."""
    with tempfile.TemporaryDirectory() as directory:
        scratch = pathlib.Path(directory)
        weights = scratch / "weights.json"
        weights.write_text(json.dumps({"unit": "steps", "weights": dict.fromkeys(rows, 1)}))
        command = [args.medley, "train", ROOT / "configs/runs/quickstart.json", "--out", scratch / "run", "threads=1",
                   f"weights={weights}", f"draws_per_step={len(rows)}", f"steps={WARM_UP + args.steps}", "hours=0", "budget=4GiB",
                   "tensorboard=false", "eval.every=0", "checkpoint.every=0"]
        for task, number in rows.items():
            command += [f"tasks.{task}.rows={number}", f"tasks.{task}.mode=joint"]
        if count > 1:
            command = [args.medley, "launch", "-n", str(count), "--", *command]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        lines = [json.loads(line) for line in (scratch / "run/timing.jsonl").read_text().splitlines()][WARM_UP:]
    return sum(task["rows"] for line in lines for task in line["tasks"].values()) / sum(line["seconds"] for line in lines)


def draw_of(args, task, folder):
    folder.mkdir()
    Medley([args.program, args.checkpoint, task, folder, "device=cpu", "threads=1", f"tasks.{task}.mode=joint"]).close()
    return json.loads((folder / "draw.json").read_text())["rows"]


def parse():
    parser = argparse.ArgumentParser(prog="tools/bench/eager --ddp N")
    parser.add_argument("--ddp", type=int, required=True, metavar="N", help="processes")
    parser.add_argument("--checkpoint", required=True)
    parser.add_argument("--program", required=True, help="medley_bench_step; medley lies beside it")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tasks", default="position_qa,zoom_gold", help="unlike tasks, as many as processes; the first is the equal one")
    args = parser.parse_args()
    args.medley = pathlib.Path(args.program).with_name("medley")
    args.tasks = args.tasks.split(",")
    if len(args.tasks) != args.ddp:
        parser.error(f"--tasks names {len(args.tasks)} tasks for {args.ddp} processes")
    return args


def compare(args, title, ways):
    """A table: rows a second of each way, by contestant and number of processes."""
    found = {way: [] for way in ways}
    for _ in range(args.rounds):
        for way, rate in ways.items():
            found[way].append(rate())
    print(f"\n{title}\n\n| | processes | rows/s | lowest .. highest | ratio to one of its own |\n|---|---|---|---|---|")
    for (who, count), rates in found.items():
        middle = statistics.median(rates)
        ratio = middle / statistics.median(found[who, 1])
        print(f"| {who} | {count} | {middle:.1f} | {min(rates):.1f} .. {max(rates):.1f} | {ratio:.2f} |", flush=True)


def main():
    args = parse()
    n, steps = args.ddp, args.steps
    print(f"torch {torch.__version__}, Python {platform.python_version()}; {os.cpu_count()} cores, {cpu()}; one thread a process")
    with tempfile.TemporaryDirectory() as directory:
        folders = {task: pathlib.Path(directory) / task for task in args.tasks}
        rows = {task: draw_of(args, task, folder) for task, folder in folders.items()}
        first, all_rows = args.tasks[0], sum(rows.values())
        own, one = rows[first], folders[first]
        compare(args, f"equal tasks: {first}, {own} rows a process", {
            ("PyTorch", 1): lambda: replica_rate([[one]], own, steps),
            ("PyTorch", n): lambda: replica_rate([[one]] * n, own * n, steps),
            ("medley", 1): lambda: medley_rate(args, {first: own}, 1),
            ("medley", n): lambda: medley_rate(args, {first: own * n}, n)})
        compare(args, f"unlike tasks in a step: {rows}", {
            ("PyTorch", 1): lambda: replica_rate([list(folders.values())], all_rows, steps),
            ("PyTorch", n): lambda: replica_rate([[folder] for folder in folders.values()], all_rows, steps),
            ("medley", 1): lambda: medley_rate(args, rows, 1),
            ("medley", n): lambda: medley_rate(args, rows, n)})


if __name__ == "__main__":
    main()
