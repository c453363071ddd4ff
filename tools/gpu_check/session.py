"""Running programs of the bundle, each no longer than the line that asks for it may take."""
import importlib.util
import json
import os
import signal
import subprocess
import time
from pathlib import Path

from gpu_check.results import Failed, Run, Skipped


class Command:
    """One call of a program. What it prints goes to the end of the log, so that it never waits for a reader."""

    def __init__(self, program, words, environment, log, prefix=""):
        self.name, self.log, self.began = words[0], log, time.monotonic()
        with open(log, "ab") as file:
            file.write(f"\n$ {prefix}{program.name} {' '.join(words)}\n".encode())
            file.flush()
            self.offset = file.tell()
            self.process = subprocess.Popen([program, *words], env=environment, stdin=subprocess.DEVNULL, stdout=file,
                                            stderr=subprocess.STDOUT)

    @property
    def text(self):
        with open(self.log, "rb") as file:
            file.seek(self.offset)
            return file.read().decode(errors="replace")

    def tail(self):
        lines = [line for line in self.text.splitlines() if line.strip()]
        return lines[-1][-300:] if lines else "nothing was printed"

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def kill(self):
        """A process that waits inside a driver may outlive this."""
        self.process.kill()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            pass

    def wait(self, end, until=lambda: False):
        """Until it ended, or `until` holds. At `end` it is killed and has failed."""
        try:
            while self.process.poll() is None and not until():
                if time.monotonic() > end:
                    raise Failed(f"{self.name} was out of time: {self.tail()}")
                time.sleep(0.005)
        except BaseException:
            self.kill()
            raise
        self.seconds = time.monotonic() - self.began
        return self

    def expect(self, code):
        if self.process.returncode != code:
            raise Failed(f"{self.name} ended with {self.process.returncode}, expected {code}: {self.tail()}")
        return self


class Session:
    """What the lines share: the bundle, where runs go, the runs of earlier lines, and until when a line may take."""

    def __init__(self, args, bundle, out):
        self.bundle, self.out, self.log = bundle, out, out / "gpu-check.log"
        self.device, self.gpu = args.device, name_of_gpu()
        self.kernels = (args.kernels or bundle / "lib/medley/medley_kernels.so").resolve()
        self.on_gpu = args.device != "cpu"
        self.tiny = args.size == "tiny" or (args.size is None and not self.on_gpu)
        self.line_end = 0.0
        self.watches_copies = False  # medley_cuda.so was built here
        self.runs = {}
        self.configs = bundle / "share/medley/configs"
        self.torch = find_torch(args.torch)

    def environment(self, more):
        paths = [self.torch, self.bundle / "carried", os.environ.get("LD_LIBRARY_PATH")]
        settings = {**os.environ, "LD_LIBRARY_PATH": ":".join(str(path) for path in paths if path)}
        # What medley decides is tried, unless a line says otherwise.
        for name in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"):
            settings.pop(name, None)
        return {**settings, **(more or {})}

    def left(self):
        return self.line_end - time.monotonic()

    def start(self, *words, env=None, program="medley"):
        if self.left() <= 0:
            raise Failed(f"out of time before {words[0]}")
        return Command(self.bundle / "bin" / program, [str(word) for word in words], self.environment(env), self.log,
                       prefix="".join(f"{name}={value} " for name, value in (env or {}).items()))

    def medley(self, *words, code=0, **how):
        return self.start(*words, **how).wait(self.line_end).expect(code)

    def answer(self, *words):
        """What the command writes to stdout, alone: warnings of libraries are no part of it."""
        with open(self.log, "ab") as log:
            try:
                done = subprocess.run([self.bundle / "bin/medley", *words], env=self.environment(None),
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
                                      timeout=max(1, self.left()), check=False)
            except subprocess.TimeoutExpired:
                raise Failed(f"{words[0]} was out of time") from None
        if done.returncode != 0:
            raise Failed(f"{words[0]} ended with {done.returncode}: see {self.log.name}")
        return done.stdout.decode(errors="replace")

    def write(self, name, value):
        file = self.out / name
        file.write_text(json.dumps(value))
        return file

    def model(self, name, config, **changes):
        """A model of the package, with its parts' keys replaced."""
        model = json.loads((self.configs / "models" / config).read_text())
        for part, keys in changes.items():
            model[part].update(keys)
        return self.write(f"model-{name}.json", model)

    def settings(self, tasks, rows, device=None, threads=1):
        """The quickstart's with these tasks, each with as many rows a draw."""
        weights = self.write("-".join(tasks) + ".json",
                             {"unit": "steps", "order": "deficit", "weights": {task: 1 for task in tasks}})
        words = [self.configs / "runs/quickstart.json", f"weights={weights}", "tensorboard=false", "eval.every=0", "hours=0",
                 "seed=7", f"device={device or self.device}", f"threads={1 if self.tiny else threads}"]
        return words + [f"tasks.{task}.rows={rows}" for task in tasks]

    def train(self, name, words, more=(), **how):
        """A run that must come to its end."""
        command = self.medley("train", *words, *more, "--out", self.out / name, **how)
        self.runs[name] = Run(self.out / name, command)
        return self.runs[name]

    def earlier(self, name):
        """A run of an earlier line."""
        if name not in self.runs:
            raise Skipped(f"needs the run {name} of an earlier line")
        return self.runs[name]


def name_of_gpu():
    try:
        ask = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
        return subprocess.run(ask, capture_output=True, text=True, check=False, timeout=20).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def find_torch(named):
    """The folder of the libraries of python3's torch; nothing: medley finds the one that it was built for."""
    if named:
        if not (Path(named) / "lib/libtorch_cpu.so").exists():
            raise SystemExit(f"gpu-check: {named} has no lib/libtorch_cpu.so; expected torch's folder")
        return Path(named) / "lib"
    spec = importlib.util.find_spec("torch")
    for place in spec.submodule_search_locations if spec else []:
        if (Path(place) / "lib/libtorch_cpu.so").exists():
            return Path(place) / "lib"
    return None


def line(limit):
    """Marks a line of the table and its seconds: words and figures of a session, or Failed, or Skipped."""

    def mark(function):
        function.limit = limit
        return function

    return mark
