"""The lines that ask how long a step takes, and what the GPU does meanwhile."""
import json
import math
import statistics

from gpu_check.results import Failed, Skipped
from gpu_check.session import line

PEAK = 790e12  # operations a second that products in bf16 reach on an H100
LANGUAGE = {"hidden": 1024, "layers": 28, "heads": 16, "kv_heads": 8, "head_dim": 128, "ffn": 3072, "vocabulary": 151936}
SMALL = {"language": {"hidden": 64, "layers": 2, "heads": 4, "kv_heads": 2, "head_dim": 16, "ffn": 96, "vocabulary": 0},
         "encoder": {"layers": 1, "heads": 4, "ffn": 64}, "decoder": {"layers": 1, "heads": 4, "ffn": 64}}


def is_judged(session):
    """The bars are an H100's."""
    return session.on_gpu and not session.tiny and "H100" in session.gpu


def lines_of(file):
    """Of a log whose run was ended: whole lines."""
    return [json.loads(text) for text in file.read_text().splitlines(keepends=True) if text.endswith("\n")]


class Stepped:
    """A run of equal steps: so many to warm up, then those that are timed, then some under the profiler. It is killed when they
    are done: the checkpoint of a large model takes longer than all of them."""

    def __init__(self, session, name, words):
        warm, timed, profiled = (2, 3, 1) if session.tiny else (20, 50, 5)
        self.path, first = session.out / name, warm + timed + 2  # a step in between is the profiler's own start
        file = self.path / "kernels.json"
        command = session.start("train", *words, f"steps={first + profiled + 2}", "checkpoint.every=0", "--out",
                                self.path, env={"MEDLEY_PROFILE": f"{first}-{first + profiled - 1}"})
        command.wait(session.line_end, until=file.exists)
        if file.exists():
            command.kill()
        else:
            command.expect(0)
        timing = lines_of(self.path / "timing.jsonl")
        steps = [step["seconds"] for step in timing if "seconds" in step][warm:warm + timed]
        losses = [step["loss"] for step in lines_of(self.path / "metrics.jsonl") if "loss" in step]
        if len(steps) < timed or not all(isinstance(loss, (int, float)) and math.isfinite(loss) for loss in losses):
            raise Failed(f"{name} has {len(steps)} steps, expected {timed}, with losses {losses[-3:]}")
        self.figures = {"ms": 1000 * statistics.median(steps), "loss": losses[0]}
        if (self.path / "plan.json").exists():
            self.figures["peak_over_plan"] = self.peak_over_plan(timing)
        self.add_profile(session, json.loads(file.read_text()) if file.exists() else {})

    def peak_over_plan(self, timing):
        planned = {entry["task"]: entry["predicted_peak"] for entry in json.loads((self.path / "plan.json").read_text())["tasks"]}
        return max(of["memory_peak"] / planned[task] for step in timing for task, of in step.get("tasks", {}).items())

    def add_profile(self, session, profile):
        """Of a step. Busy: its kernels' time of a step that nobody watches, for watching takes time of the host's."""
        if not profile.get("launches"):
            if session.on_gpu and not session.tiny:
                raise Failed(f"{self.path.name}: the profiler saw no kernel; is libcupti beside this torch?")
            return
        for what in ("launches", "copies", "pageable", "waits"):
            self.figures[what] = profile[what] / profile["steps"]
        self.figures["busy"] = profile["busy_ms"] / profile["steps"] / self.figures["ms"]
        self.figures["kernels"] = profile["kernels"][:40]

    def words(self):
        of = self.figures
        told = f"{of['ms']:.1f} ms"
        if "peak_over_plan" in of:
            told += f", peak {of['peak_over_plan']:.3f} of the plan"
        if "busy" in of:
            told += f", {of['launches']:.0f} launches, {of['waits']:.1f} waits, busy {100 * of['busy']:.0f} %"
        return told + (f", MFU {of['mfu']:.2f}" if "mfu" in of else "")


def operations(rows, width):
    """Of a step of the model of 0.6 billion: six for each parameter and token, and attention's."""
    of = LANGUAGE
    heads, keys = of["heads"] * of["head_dim"], of["kv_heads"] * of["head_dim"]
    layer = of["hidden"] * (2 * heads + 2 * keys + 3 * of["ffn"])
    return 6 * rows * width * (of["layers"] * (layer + heads * width) + of["hidden"] * of["vocabulary"])


def quickstart(session, dtype):
    words = [session.configs / "runs/quickstart.json", "tensorboard=false", "eval.every=0", "hours=0", "seed=7", f"dtype={dtype}",
             f"device={session.device}", f"threads={1 if session.tiny else 4}"]
    # Planning six tasks takes longer than their steps; `prediction` asks about such plans.
    for task in json.loads(words[0].read_text())["tasks"]:
        words += [f"tasks.{task}.mode=joint"] if task != "control" else []
        words += [f"tasks.{task}.rows=2"] if session.tiny else []
    return Stepped(session, f"step-{dtype}", [*words, "plan=false"])


def long_texts(session, name, deterministic):
    rows, width = (2, 16) if session.tiny else (16, 512)
    model = session.model("long-texts", "agent-qwen3-0.6b.json", **(SMALL if session.tiny else {"language": LANGUAGE}))
    words = [*session.settings(["long_text"], rows, threads=8), "--plugin-path", session.bundle / "lib/medley/bench", f"model={model}",
             "plan=true", "dtype=bf16", f"deterministic={json.dumps(deterministic)}", "optimizer.learning_rate=1e-5"]
    run = Stepped(session, name, words + (["tasks.long_text.variant=short"] if session.tiny else []))
    if not session.tiny:
        run.figures["mfu"] = operations(rows, width) / PEAK / run.figures["ms"] * 1000
    return run


@line(60)
def step(session):
    """Steps as they are trained, of a small model and of one of 0.6 billion parameters, and what they ask of the GPU."""
    runs = {"quickstart fp32": quickstart(session, "fp32"), "bf16": quickstart(session, "bf16"),
            "0.6B bf16": long_texts(session, "step-large", False),
            "deterministic": long_texts(session, "step-large-deterministic", True)}
    told = "; ".join(f"{name} {run.words()}" for name, run in runs.items())
    told += "" if session.tiny else f"; MFU of {PEAK / 1e12:.0f} TFLOP/s, an H100's, on {session.gpu or 'this machine'}"
    if is_judged(session):
        for name, run in runs.items():
            bar = 90 if "mfu" in run.figures else 14
            if run.figures["ms"] > bar or run.figures.get("peak_over_plan", 0) > 1.02:
                raise Failed(f"{name}: at most {bar} ms and 1.02 of the plan were expected: {told}")
    return told, {name: run.figures for name, run in runs.items()}


def rows_of(session, what, **how):
    """What medley_bench_gpu says: a line of JSON each, beside what libraries warn of."""
    told = session.medley(what, session.device, "tiny" if session.tiny else "full", program="medley_bench_gpu", **how).text
    return [json.loads(text) for text in told.splitlines() if text.startswith("{")]


def fused_attention(kernels):
    """Whether no kernel is a softmax of its own, over scores that are kept."""
    names = " ".join(kernels or []).lower()
    return "softmax" not in names and any(word in names for word in ("flash", "fmha", "sdpa", "attention"))


@line(30)
def masks(session):
    """Attention of every kind of mask, in every type: fused, and near float64."""
    rows = rows_of(session, "masks")
    if len(rows) != 12:
        raise Failed(f"{len(rows)} rows, expected 4 masks in 3 types")
    for row in rows:
        rounding = {"BFloat16": 2**-8, "Half": 2**-11, "Float": 2**-24}[row["type"]]
        # Plain operators in the same type may be near by chance. In float kernels multiply by tensor cores, three times.
        allowed = max(2 * row["plain_error"], (256 if row["type"] == "Float" else 16) * rounding)
        name = f"{row['mask']} in {row['type']}"
        if not row["error"] <= allowed:
            raise Failed(f"{name} is {row['error']:.1e} from float64, where {allowed:.1e} would do: {row}")
        if session.on_gpu and not session.tiny and not fused_attention(row["kernels"]):
            raise Failed(f"{name} is no fused attention: {row['kernels']}")
    # The kernel's own name is the first's: it takes longest.
    return "; ".join(f"{row['mask']} {row['type']} {row['ms']:.3f} ms, {row['error']:.0e}" +
                     (f" {row['kernels'][0][:40]}" if row["kernels"] else "") for row in rows), rows


@line(30)
def fused(session):
    """Each kernel of medley_kernels.so beside the operators that it stands for: as near to float64, and no slower."""
    if not session.on_gpu:
        raise Skipped("the kernels are for GPUs")
    if not session.kernels.exists():
        raise Skipped("medley_kernels.so was not built, for want of nvcc")
    rows = rows_of(session, "fused", env={"MEDLEY_KERNELS": str(session.kernels)})
    if len(rows) != 12:
        raise Failed(f"{len(rows)} rows, expected 4 uses of kernels in 3 types")
    for row in rows:
        name = f"{row['kernel']} in {row['type']}"
        if not row["used"]:
            raise Failed(f"{name} is left aside: {row['what']}, is {row['error']:.1e} from float64, where {row['tolerance']:.1e} would do")
        if not session.tiny and row["ms"] > row["operators_ms"]:
            raise Failed(f"{name} takes {row['ms']:.3f} ms, its operators {row['operators_ms']:.3f}")
    return "; ".join(f"{row['kernel']} {row['type']} {row['ms']:.3f} ms, {row['gigabytes_per_second']:.0f} GB/s, by operators "
                     f"{row['operators_ms']:.3f}; error {row['error']:.1e} of {row['tolerance']:.1e}" for row in rows), rows
