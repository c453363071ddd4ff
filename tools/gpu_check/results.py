"""What a run left behind, read strictly: a file that is too short or a number that is not finite fails a line."""
import json
import math


class Failed(Exception):
    """A line's verdict: why it fails."""


class Skipped(Exception):
    """A line's verdict: what it lacks."""


class Run:
    """A run that ended, and what it printed."""

    def __init__(self, path, command=None):
        self.path = path
        self.text = command.text if command else ""
        self.seconds = command.seconds if command else 0.0
        self.steps = self.read("config.resolved.json")["steps"]

    def read(self, name):
        return json.loads((self.path / name).read_text())

    def lines(self, name):
        return [json.loads(line) for line in (self.path / name).read_text().splitlines()]

    def transitions(self, name):
        """A log's lines about a change of phase, which come between those of the steps."""
        return [line for line in self.lines(name) if "transition" in line]

    def log(self, name):
        """A log's lines: one for each step of the run."""
        lines = [line for line in self.lines(name) if "transition" not in line]
        if [line["step"] for line in lines] != list(range(1, self.steps + 1)):
            raise Failed(f"{self.path.name}/{name} has {len(lines)} lines, expected one for each of {self.steps} steps")
        return lines

    def metrics(self):
        lines = self.log("metrics.jsonl")
        for line in lines:
            for key in ("loss", "grad_norm"):
                if not isinstance(line[key], (int, float)) or not math.isfinite(line[key]):
                    raise Failed(f"step {line['step']} of {self.path.name}: {key} is {line[key]}")
        return lines

    def timing(self):
        return self.log("timing.jsonl")

    def later(self):
        """Of the timing: the second half, in which everything is warm."""
        return self.timing()[self.steps // 2:]

    def receipt(self):
        return self.read("receipt.json")

    def peaks(self):
        """The largest measured peak of each task, in bytes."""
        return {task: max(epoch["measured_peak"]["largest"] for epoch in epochs)
                for task, epochs in self.receipt()["tasks"].items()}

    def findings(self, kind):
        """What the guard said of this kind, after whichever step."""
        return [finding["words"] for step in self.timing() for finding in step.get("guard") or [] if finding["kind"] == kind]

    def sums(self):
        """The hashes of weights and moments of the last step's checkpoint, as its manifest has them."""
        manifest = json.loads((self.path / f"step-{self.steps:08}" / "manifest.json").read_text())
        return {name: manifest["files"][name]["xxh3_128"] for name in ("model.safetensors", "optim.safetensors")}


def same_bits(a, b):
    """Weights, moments and metrics of two runs; raises where they differ."""
    apart = far_apart(a, b)
    for name, there in a.sums().items():
        if not there or there != b.sums()[name]:
            raise Failed(f"{name} of {b.path.name} is not that of {a.path.name}: {apart}")
    if (a.path / "metrics.jsonl").read_bytes() != (b.path / "metrics.jsonl").read_bytes():
        raise Failed(f"metrics of {b.path.name} are not those of {a.path.name}: {apart}")


def far_apart(a, b):
    """The largest relative differences of losses and of gradients' norms, and the step at which they begin."""
    there, here = a.metrics(), b.metrics()
    if len(there) != len(here):
        raise Failed(f"{a.path.name} took {len(there)} steps, {b.path.name} {len(here)}")
    worst, first = {"loss": 0.0, "grad_norm": 0.0}, None
    for x, y in zip(there, here):
        for key in worst:
            apart = abs(x[key] - y[key]) / max(abs(x[key]), 1e-12)
            worst[key] = max(worst[key], apart)
            if apart > 0 and first is None:
                first = x["step"]
    return {**worst, "from_step": first}


def expect_near(a, b, most):
    apart = far_apart(a, b)
    if not max(apart["loss"], apart["grad_norm"]) <= most:
        raise Failed(f"{b.path.name} against {a.path.name}: {apart}, expected at most {most}")
    return {"loss": apart["loss"], "grad_norm": apart["grad_norm"]}


def mebibytes(count):
    return f"{count / 2**20:.1f} MiB"
