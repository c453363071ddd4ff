"""The lines that ask about several processes: gradients that are added up on GPUs."""
import subprocess

from gpu_check.results import Failed, Run, Skipped, expect_near
from gpu_check.session import line

ON_GPUS, THROUGH_CPU = "gradients are added up on the GPUs, by NCCL", "gradients go through the CPU"


def need_nccl(session):
    if not session.on_gpu:
        raise Skipped("NCCL is for GPUs")
    if not (session.bundle / "lib/medley/medley_nccl.so").exists():
        raise Skipped("medley_nccl.so was not built, for want of nccl.h")


def count_gpus():
    try:
        told = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False, timeout=20).stdout
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return sum(line.startswith("GPU ") for line in told.splitlines())


@line(60)
def nccl(session):
    """A group of one: every collective and the exchange of gradients give back what went in."""
    need_nccl(session)
    numbers = 100_000 if session.tiny else 100_000_000
    printed = session.medley(numbers, program="medley_bench_exchange").text.splitlines()  # libraries warn there too
    said = [line for line in printed if line.startswith("the same bits")]
    if not said:
        raise Failed("it ended well and does not say so")
    return said[0], {"said": said[0]}


@line(90)
def pair(session):
    """Two processes with a GPU each, by NCCL and through the CPU: the same but for rounding. The roll call compares weights."""
    need_nccl(session)
    if count_gpus() < 2:
        raise Skipped("there are fewer than two GPUs")
    words = session.settings(["position_qa", "arrow_to_gold"], 4 if session.tiny else 48)
    runs = []
    for name, environment, told in (("pair", {}, ON_GPUS), ("pair-cpu", {"MEDLEY_NCCL": "0"}, THROUGH_CPU)):
        medley = session.bundle / "bin/medley"
        command = session.medley("launch", "-n", 2, "--", medley, "train", *words, "plan=false", "steps=5", "--out",
                                 session.out / name, env=environment)
        if told not in command.text:
            raise Failed(f"{name} does not say: {told}")
        runs.append(Run(session.out / name, command))
    apart = expect_near(*runs, 1e-3)
    steps = [sorted(step["seconds"] for step in run.later())[len(run.later()) // 2] for run in runs]
    return (f"losses within {apart['loss']:.1e}, norms within {apart['grad_norm']:.1e}; {1000 * steps[0]:.0f} ms a step, "
            f"through the CPU {1000 * steps[1]:.0f}"), {**apart, "steps": steps}
