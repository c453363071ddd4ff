"""One trial: the command under a fault, what must hold then, and the way on."""

import errno
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ERRORS = {name: getattr(errno, name) for name in ("EIO", "ENOSPC", "EINTR", "EMFILE")}
SIGNALS = {name: getattr(signal, "SIG" + name) for name in ("INT", "TERM", "HUP", "USR1", "USR2", "KILL")}
CHANGES = {"write", "pwrite", "writev", "fsync", "fdatasync", "ftruncate", "truncate", "fallocate", "mkdir", "mkdirat",
           "rename", "renameat", "renameat2", "creat", "link"}
# Of a run that came to its end, besides those that are compared.
FILES = ("config.resolved.json", "run.json", "plan.json", "profile.json", "receipt.json", "timing.jsonl", "log.txt",
         "tensorboard/events.out.tfevents.medley")


@dataclass
class Answer:
    """What one run of the command did."""
    code: int  # as a shell says it: 128 + the signal
    calls: int
    seconds: float
    hit: str
    text: str


@dataclass
class Fault:
    """What is done at which call; `error` is a name of errno.h, or a signal's without SIG."""
    kind: str = "none"
    at: int = 0
    error: str = ""
    persists: bool = False

    def __str__(self):
        return ":".join([self.kind, str(self.at), self.error] + ["persists"] * self.persists)

    @staticmethod
    def parse(text):
        kind, at, error, *rest = text.split(":")
        return Fault(kind, int(at), error, bool(rest))


class Server:
    """The medley command behind its fork server, in a directory of its own. `also`: other paths whose calls count."""

    def __init__(self, build, directory, also=(), **variables):
        self.directory = Path(directory)
        self.run = self.directory / "run"
        self.console = self.directory.parent / (self.directory.name + ".console")
        self.inputs = self.directory.parent / "inputs"
        environment = dict(os.environ, OMP_NUM_THREADS="1", LD_PRELOAD=str(build / "lib/medley_crash.so"),
                           MEDLEY_CRASH_VERBS=str(build / "lib/medley/medley_verbs.so"), **variables)
        self.also = also
        self.process = subprocess.Popen([str(build / "bin/medley")], env=environment, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def call(self, arguments, fault=Fault(), trace="", watched=True):
        paths = ":".join(map(str, [self.directory, self.inputs, *self.also])) if watched else ""
        number = {"": 0, **ERRORS, **SIGNALS}[fault.error]
        fields = [fault.kind, fault.at, number, int(fault.persists), self.console, trace, paths]
        self.process.stdin.write("\t".join(str(f) for f in [*fields, *arguments]) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit("the fork server ended")
        status, calls, microseconds, hit = line.rstrip("\n").split("\t")
        status = int(status)
        code = 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        text = self.console.read_text(errors="replace")
        return Answer(code, int(calls), int(microseconds) / 1e6, hit, text)

    def train(self, *more):
        return ["train", str(self.inputs / "run.json"), "--out", str(self.run), *more]

    def resume(self, *more):
        return ["resume", str(self.run), *more]

    def evaluate(self):
        return ["eval", str(self.run), "--rows", "1"]

    def clear(self):
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def announced(text):
    """The newest step that the command said is saved."""
    return max((int(step) for step in re.findall(r"^saved step (\d+)", text, re.M)), default=0)


def restored(text):
    found = re.search(r"^restored step (\d+)|^all (\d+) steps are done", text, re.M)
    return int(found.group(1) or found.group(2)) if found else 0


def plain(path):
    """Without the process in the name of a file that is being written."""
    return re.sub(r"(/\.tmp-[^/]*)-\d+", r"\1", path)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "missing"


def newest(run):
    steps = [p for p in run.glob("step-*") if p.name[5:].isdigit()]
    return max(steps, key=lambda p: int(p.name[5:]), default=run / "step-none")


def changes_of_weights(lines):
    """Without what was refused, which a look at the weights file that failed is too."""
    entries = [json.loads(line) for line in lines.splitlines()]
    return [[e["number"], e["step"], e["cause"], e.get("text")] for e in entries if e["cause"] != "refused edit"]


def end_of(run):
    """What a run leaves that is not measured."""
    checkpoint = newest(run)
    end = {"checkpoint": checkpoint.name}
    for name in ("LATEST", "metrics.jsonl", "losses.csv"):
        end[name] = digest(run / name)
    for name in ("model.safetensors", "optim.safetensors"):
        end[name] = digest(checkpoint / name)
    state = checkpoint / "state.json"
    sections = json.loads(state.read_text()) if state.exists() else {}
    sections.pop("receipt", None)
    progress = sections.get("progress", {}).get("state", {})
    progress["weight_lines"] = changes_of_weights(progress.get("weight_lines", ""))
    end["state.json"] = json.dumps(sections, sort_keys=True)
    return end


def tree(directory):
    """The sums of all files, without the worker that is named in them."""
    worker = re.compile(re.escape(bytes(directory.parent.parent)) + rb"/w\d+/")
    return {str(p.relative_to(directory)): hashlib.sha256(worker.sub(b"", p.read_bytes())).hexdigest()
            for p in sorted(directory.rglob("*")) if p.is_file()}


def names_of(path, server):
    """What words may name a path by: below the run not the run alone; a new file also by the one that it replaces."""
    if not path.startswith("/"):
        return [server.directory.name]
    parts = Path(plain(path)).relative_to(server.directory.parent).parts
    names = parts[2:] or parts[1:] or parts
    return [*names, re.sub(r"^\.(tmp-\.?)+(new-)?", "", names[-1])]


def may_be_silent(path, fault):
    """The words in run.lock are a courtesy; what TensorBoard's file did not take once, it takes with the next value."""
    return path.endswith("/run.lock") or ("/tensorboard/" in path and not fault.persists)


@dataclass
class Verdict:
    problems: list = field(default_factory=list)
    told: bool = False  # the error, with the system's words and a name of the path
    seconds: float = 0


class Scenario:
    """A run in some state, a command on it, and what must come out in the end."""

    def __init__(self, name, arguments, said=0):
        self.name = name
        self.arguments = arguments  # of a server
        self.said = said  # the step that was announced before
        self.template = None
        self.expected = None
        self.words = ""  # of the command without a fault

    def prepare(self, server):
        server.clear()
        if self.template:
            shutil.copytree(self.template, server.directory, dirs_exist_ok=True, symlinks=True)

    def trial(self, server, fault):
        self.prepare(server)
        first = server.call(self.arguments(server), fault)
        verdict = Verdict(seconds=first.seconds)
        self.judge_first(server, fault, first, verdict)
        self.go_on(server, first, verdict)
        return first, verdict

    def judge_first(self, server, fault, first, verdict):
        """How the command dealt with the fault, and what it said of it."""
        if fault.kind in ("kill", "torn"):
            if first.code != 128 + signal.SIGKILL:
                verdict.problems.append(f"ended with {first.code} before the call was reached")
            return
        if first.code > 128:
            verdict.problems.append(f"ended by signal {first.code - 128}")
        if raw := re.search("filesystem error|basic_|iostream|std::", first.text):
            verdict.problems.append(f"{raw.group()} is no word for users")
        if fault.kind == "short" or (fault.error == "EINTR" and not fault.persists):
            if first.code != 0:
                verdict.problems.append(f"ended with {first.code}, though the call had only to be made again")
            # spdlog, which writes log.txt, makes no call again; medley's handlers let the system do that.
            if "warning:" in first.text and "warning:" not in self.words and not first.hit.endswith("/log.txt"):
                verdict.problems.append("a warning, though the call had only to be made again")
            return
        call, _, path = first.hit.partition(" ")
        words = os.strerror(ERRORS[fault.error])
        names = names_of(path, server)
        # Where all later calls fail too, any of them may be the one that is named.
        verdict.told = words in first.text and (fault.persists or any(name in first.text for name in names))
        if verdict.told:
            return
        if first.code != 0:
            verdict.problems.append(f"ended with {first.code} and did not name {path}: {words}")
        elif call in CHANGES and not may_be_silent(path, fault):
            verdict.problems.append(f"{path}: {words}: was never told")

    def go_on(self, server, first, verdict):
        said = max(self.said, announced(first.text))
        if first.code != 0:
            again = server.call(server.resume(), watched=False)
            if again.code == 2 and ("holds no run" in again.text or "is not a directory" in again.text or
                                    "no such directory" in again.text):
                if said:
                    verdict.problems.append(f"step {said} was announced, but there is no run")
                again = server.call(server.train() if self.template else self.arguments(server), watched=False)
            elif restored(again.text) < said:
                verdict.problems.append(f"step {said} was announced, {restored(again.text)} was restored")
            verdict.seconds += again.seconds
            if again.code != 0:
                verdict.problems.append(f"the next start ended with {again.code}: {again.text.strip()[-400:]}")
        self.compare(server, verdict)

    def compare(self, server, verdict):
        end = end_of(server.run)
        for name, value in self.expected.items():
            if end[name] != value and not (name == "LATEST" and verdict.told):
                verdict.problems.append(f"{name} differs from the unbroken run's")
        missing = [name for name in FILES if not (server.run / name).exists()]
        if missing and not verdict.told:
            verdict.problems.append("missing: " + " ".join(missing))
        left = [p.name for p in server.run.glob(".*") if p.name.startswith((".tmp-", ".del-"))]
        if left and not verdict.told:  # what could not be removed, and was said, is the next start's
            verdict.problems.append("left behind: " + " ".join(left))


class Evaluation(Scenario):
    """eval must not change the run, and the next eval must say the same."""

    def go_on(self, server, first, verdict):
        again = server.call(self.arguments(server), watched=False)
        verdict.seconds += again.seconds
        if again.code != 0:
            verdict.problems.append(f"the next eval ended with {again.code}: {again.text.strip()[-400:]}")
        left = tree(server.run)
        for name, value in self.expected.items():
            if left.pop(name, "missing") != value:
                verdict.problems.append(f"{name} differs from the unbroken eval's")
        left = [name for name in left if not name.startswith(".tmp-")]  # the next resume's, who has the lock
        if left:
            verdict.problems.append("left behind: " + " ".join(left))


def read_trace(path):
    """The calls of a traced run: number, name, path, second path, offset, size, result, what it can return."""
    calls = []
    for line in Path(path).read_text().splitlines():
        n, name, first, second, offset, size, result, can = line.split("\t")
        calls.append((int(n), name, first, second, int(offset), int(size), int(result), set(can.split(",")) - {""}))
    return calls


def changes(call):
    _, name, _, _, _, _, result, can = call
    return result >= 0 and (name in CHANGES or "creates" in can or name in ("unlink", "unlinkat", "rmdir"))


def faults_of(calls, every_kill=False):
    """Every fault of every call; SIGKILL once between two calls that change something: what only reads in between
    leaves the same disk."""
    changed = True
    for call in calls:
        n, name, _, _, _, size, _, can = call
        if n == 0:
            continue
        if changed or every_kill:
            yield Fault("kill", n)
        changed = changes(call)
        if name in ("write", "pwrite") and size > 1:
            yield Fault("torn", n)
        for error in sorted(can - {"creates", "short"}):
            yield Fault("error", n, error)
        if "short" in can:
            yield Fault("short", n)
        if name in CHANGES and "ENOSPC" in can:
            yield Fault("error", n, "ENOSPC", True)
        if name in ("fsync", "fdatasync"):
            yield Fault("error", n, "EIO", True)
