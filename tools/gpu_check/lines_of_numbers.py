"""The lines that ask whether medley starts, and whether its numbers are right."""
import json
import math
import re
import shutil
import struct
import subprocess
import time
import zlib
from pathlib import Path

from gpu_check.results import Failed, Run, Skipped, expect_near, same_bits
from gpu_check.session import line


@line(60)
def version(session):
    """The command answers, and was built for the libtorch that is here."""
    built = json.loads(session.answer("version", "--json"))
    release = built["libtorch"]["version"]
    told = session.torch.parent / "version.py" if session.torch else None
    here = re.search(r"__version__ = '([\d.]+)", told.read_text()) if told and told.exists() else None
    if here and here[1] != release:
        raise Failed(f"medley was built for libtorch {release}, python3's torch is {here[1]}")
    return f"medley {built['git_revision']}, libtorch {release}", built


@line(90)
def library(session):
    """medley_cuda.so is built against the torch and CUDA headers that are here."""
    nvcc = shutil.which("nvcc")
    if not nvcc:
        raise Skipped("no nvcc, so no CUDA headers")
    torch = session.torch.parent if session.torch else Path(json.loads(session.answer("version", "--json"))["libtorch"]["root"])
    headers, built = torch / "include", session.out / "medley_cuda.so"
    done = subprocess.run(
        ["g++", "-std=c++20", "-O1", "-shared", "-fPIC", f"-I{session.bundle}/cuda", f"-I{headers}",
         f"-I{headers}/torch/csrc/api/include", f"-I{Path(nvcc).resolve().parent.parent}/include",
         session.bundle / "cuda/live_blocks_cuda.cc", "-o", built, f"-L{torch}/lib", "-lc10_cuda", "-lc10"],
        capture_output=True, text=True, check=False, timeout=max(1, session.left()))
    if done.returncode != 0:
        raise Failed(done.stderr.strip()[-300:])
    if session.on_gpu:
        shutil.move(built, session.bundle / "lib/medley/medley_cuda.so")
        session.watches_copies = True
    return "built", {}


@line(120)
def start(session):
    """A run of a few steps ends, saved, with finite losses."""
    run = session.train("start", session.settings(["position_qa", "arrow_to_gold"], 2 if session.tiny else 48),
                        ["plan=false", "steps=4"])
    losses = [step["loss"] for step in run.metrics()]
    run.sums()  # raises where step 4 is not saved
    if session.watches_copies and "not watched" in run.text:
        raise Failed("medley_cuda.so is there and copies are not watched")
    if session.on_gpu and "for what is no tensor" not in (run.path / "log.txt").read_text():
        raise Failed("nobody named a budget, and nothing is kept back for kernels")
    return f"losses {losses[0]:.4f} to {losses[-1]:.4f}", {"seconds": run.seconds, "losses": losses}


def survives_an_interrupt(session, name, words, more, steps):
    """A deterministic run that ends in the bits of one that was interrupted behind its first checkpoint, and where that was."""
    more = ["plan=false", "deterministic=true", f"steps={steps}", f"checkpoint.every={steps // 4}", "checkpoint.keep=9", *more]
    whole, cut = session.train(name, words, more), session.out / f"{name}-cut"
    interrupted = session.start("train", *words, *more, "--out", cut)
    interrupted.wait(session.line_end, until=lambda: any(cut.glob("step-*[0-9]"))).interrupt()
    interrupted.wait(session.line_end).expect(130)
    at = max(cut.glob("step-*[0-9]")).name
    session.medley("resume", cut)
    same_bits(whole, Run(cut))
    return whole, at


@line(90)
def resume(session):
    """deterministic: a run that was interrupted and resumed ends in the same bits as one that was not."""
    steps = 40 if session.tiny else 200
    words = session.settings(["position_qa", "arrow_to_gold"], 2 if session.tiny else 16)
    _, at = survives_an_interrupt(session, "resume", words, [], steps)
    return f"interrupted at {at}, same bits at step {steps}", {"interrupted": at, "steps": steps}


@line(60)
def kernels(session):
    """Moments of fewer bits, updated by medley_kernels.so: the CPU's bits."""
    if not session.on_gpu:
        raise Skipped("the kernels are for GPUs")
    if not (session.bundle / "lib/medley/medley_kernels.so").exists():
        raise Skipped("medley_kernels.so was not built, for want of nvcc")
    printed = session.medley(100_000_000, program="medley_bench_kernels").text.splitlines()
    said = [line for line in printed if line.startswith(("the same bits", "bf16:", "8bit:"))]
    if len(said) != 3:
        raise Failed("it ended well and does not say so")
    return "; ".join(said), {"said": said}


# 64 rows of 24 tokens are as many ids as libtorch 2.11's faulty kernel takes.
def many_ids(session, device=None):
    return session.settings(["control", "position_qa"], 4 if session.tiny else 64, device)


@line(60)
def numbers(session):
    """The first steps on the CPU and on the device: the same but for rounding."""
    cpu = session.train("numbers-cpu", many_ids(session, "cpu"), ["plan=false", "steps=3"])
    run = session.train("numbers", many_ids(session), ["plan=false", "steps=3"])
    apart = expect_near(cpu, run, 1e-3)
    return f"losses within {apart['loss']:.1e}, norms within {apart['grad_norm']:.1e}", apart


@line(30)
def repeat(session):
    """A deterministic run, as often as the limit allows: always the same bits. A sum that is lost now and then is none."""
    steps, longest, runs = 6 if session.tiny else 150, 0.0, []
    while len(runs) < 2 or (session.left() > 2 * longest and len(runs) < (3 if session.tiny else 20)):
        began = time.monotonic()
        runs.append(session.train(f"repeat-{len(runs)}", many_ids(session),
                                  ["plan=false", "deterministic=true", f"steps={steps}"]))
        same_bits(runs[0], runs[-1])
        longest = max(longest, time.monotonic() - began)
    return f"{len(runs)} runs of {steps} steps, all the same", {"runs": len(runs), "steps": steps}


@line(30)
def tf32(session):
    """matmul_precision=tf32: near, and on a GPU not the same."""
    run = session.train("tf32", many_ids(session), ["plan=false", "steps=3", "matmul_precision=tf32"])
    apart = expect_near(session.earlier("numbers"), run, 5e-2)
    if session.on_gpu and apart["loss"] == 0:
        raise Failed("the same bits: tf32 is not in use")
    return f"losses within {apart['loss']:.1e}", apart


MUON = ["optimizer.name=muon", "optimizer.average=0.98", "optimizer.trend.beta=0.5", "optimizer.trend.gamma=0.98"]


@line(60)
def muon(session):
    """Muon with an average and a trend, on the CPU and on the device: the same but for rounding."""
    cpu = session.train("muon-cpu", many_ids(session, "cpu"), ["plan=false", "steps=5", *MUON])
    run = session.train("muon", many_ids(session), ["plan=false", "steps=5", *MUON])
    apart = expect_near(cpu, run, 1e-3)
    return f"losses within {apart['loss']:.1e}, norms within {apart['grad_norm']:.1e}", apart


@line(90)
def phases(session):
    """deterministic, with predictions: interrupted and resumed, the same bits; no byte and no copy more after any of them."""
    words = session.settings(["position_qa", "arrow_to_gold"], 2 if session.tiny else 16)
    more = ["optimizer.warmup_steps=5", "phases.warmup_steps=10", "phases.full_steps=10", "phases.correct_steps=3",
            "phases.allowance=0.5", *MUON]
    whole, _ = survives_an_interrupt(session, "phases", words, more, 40 if session.tiny else 200)
    jumps = [line["jump"] for line in whole.transitions("metrics.jsonl") if "jump" in line]
    if not jumps:
        raise Failed("nothing was predicted")
    after = whole.transitions("timing.jsonl")
    grown = after[-1]["memory_after"] - after[1]["memory_after"]
    if grown > 0 or any(line["weight_copies"] for line in after):
        raise Failed(f"{grown} bytes more after the last prediction than before the first, "
                     f"{max(line['weight_copies'] for line in after)} copies of weights")
    taken = sum(jump["taken"] for jump in jumps)
    return f"{len(jumps)} predictions, {taken} taken, same bits, 0 bytes more", {"jumps": jumps, "memory": after}


@line(90)
def modes(session):
    """One step of each task in every mode: the same but for rounding, and each in fewer bytes than with all graphs."""
    words = session.settings(["position_qa", "mem_canvas"], 2 if session.tiny else 16)
    ways = {"joint": ["mode=joint"] * 2, "split": ["mode=sequential", "mode=two_stage"],
            "recompute": ["mode=joint recompute_every=1"] * 2, "pieces": ["mode=joint micro_rows=1"] * 2}
    runs, figures = {}, {}
    for name, (qa, canvas) in ways.items():
        keys = [f"tasks.position_qa.{key}" for key in qa.split()] + [f"tasks.mem_canvas.{key}" for key in canvas.split()]
        runs[name] = session.train("mode-" + name, words, ["plan=false", "steps=2", *keys])
        figures[name] = {**expect_near(runs["joint"], runs[name], 1e-3), "peaks": runs[name].peaks()}
        for task, peak in runs[name].peaks().items():
            if name != "joint" and peak >= runs["joint"].peaks()[task]:
                raise Failed(f"{name} is not in force: {task} took {peak} bytes, joint {runs['joint'].peaks()[task]}")
    worst = max(figure["grad_norm"] for figure in figures.values())
    share = max(peak / figures["joint"]["peaks"][task] for name in ways if name != "joint"
                for task, peak in figures[name]["peaks"].items())
    return f"{len(ways)} ways, norms within {worst:.1e}, peaks at most {share:.2f} of joint's", figures


@line(60)
def scores(session):
    """A trained run is scored on the device and on the CPU: the same but for rounding, and better than it began."""
    run, rows, told = session.earlier("segments"), 8 if session.tiny else 64, {}
    for device in dict.fromkeys(["cpu", session.device]):
        session.medley("eval", run.path, "--rows", rows, "--device", device)
        told[device] = run.read("eval.json")["tasks"]
    began = {}
    for step in run.metrics():
        for task, terms in step["terms"].items():
            began.setdefault(task, sum(term["weighted"] for term in terms.values()))
    for task, here in told[session.device].items():
        cpu = told["cpu"][task]
        if abs(here["loss"] - cpu["loss"]) > 1e-3 * abs(cpu["loss"]):
            raise Failed(f"{task}: a loss of {here['loss']}, on the CPU {cpu['loss']}")
        # Rounding may turn the answer to one row.
        if not math.isclose(here["value"], cpu["value"], rel_tol=1e-2, abs_tol=1.5 / rows):
            raise Failed(f"{task}: {here['metric']} {here['value']}, on the CPU {cpu['value']}")
        if not here["loss"] < 0.95 * began[task]:
            raise Failed(f"{task}: a loss of {here['loss']}, {began[task]} in its first step: nothing was learned or loaded")
    figures = {device: {task: {key: score[key] for key in ("value", "loss")} for task, score in tasks.items()}
               for device, tasks in told.items()}
    return ", ".join(f"{task} loss {score['loss']:.3f} ({began[task]:.3f} at first)"
                     for task, score in told[session.device].items()), figures


def write_png(file, size):
    """A picture with something to see: 8 bits a channel, RGB."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    lines = b"".join(b"\0" + bytes(x * y * (1 + channel) % 256 for x in range(size) for channel in range(3))
                     for y in range(size))
    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    file.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) +
                     chunk(b"IEND", b""))


@line(45)
def generate(session):
    """`generate` on the device and on the CPU: the same reply, and a picture is drawn."""
    run, shown, replies = session.earlier("segments"), session.out / "shown.png", {}
    write_png(shown, 128)
    for device in dict.fromkeys(["cpu", session.device]):
        drawn = session.out / f"drawn-{device}.png"
        ran = session.medley("generate", run.path, "--image", shown, "--prompt", "where is", "--tokens", 8, "--out", drawn,
                             "--device", device)
        replies[device] = ran.text.split(f"wrote {drawn}\n")[-1].strip()  # stdout, which a file gets last
        if drawn.read_bytes()[:24] != shown.read_bytes()[:24]:  # signature, width, height
            raise Failed(f"{drawn.name} is no picture of 128 x 128")
    if replies[session.device] != replies["cpu"]:
        raise Failed(f"the reply is {replies[session.device]!r}, on the CPU {replies['cpu']!r}")
    return f"reply {replies['cpu'][:60]!r}", replies
