"""The small run that is broken, and the states of it from which a command starts."""

import shutil
import sys
from pathlib import Path

import trial
from trial import Evaluation, Fault, Scenario

SOURCE = Path(__file__).resolve().parent.parent.parent


def make_inputs(work):
    inputs = work / "inputs"
    shutil.copytree(SOURCE / "tests/crash/inputs", inputs)
    shutil.copy(SOURCE / "configs/tokenizers/small.model", inputs / "tokenizer.model")
    shutil.copy(SOURCE / "configs/texts/control.txt", inputs / "control.txt")


def must(answer, code=0):
    if answer.code != code:
        sys.exit(f"ended with {answer.code}, not {code}, without a fault in its way:\n{answer.text}")
    return answer


def keep(server, work, name):
    template = work / name
    shutil.copytree(server.directory, template, symlinks=True)
    return template


def calls_on_damage(calls):
    """All others are those of the resume without damage."""
    at = [i for i, c in enumerate(calls) if "step-00000002" in c[2] or "/.bad-" in c[2] + c[3]]
    renamed = next(i for i, c in enumerate(calls) if "/.bad-" in c[3])
    return calls[at[0]:renamed + 10]


def flip(file, where):
    data = bytearray(file.read_bytes())
    data[int(len(data) * where)] ^= 16
    file.write_bytes(data)


def calls_on_logs(calls):
    """Likewise: from the first look at the log to its repair."""
    at = next(i for i, c in enumerate(calls) if c[2].endswith("/metrics.jsonl"))
    named = next(i for i, c in enumerate(calls) if c[3].endswith("/metrics.jsonl"))
    return calls[at:named + 5]


def calls_on_weights(calls):
    """Those on the weights file and its log, and what is around the damaged one's getting another name."""
    named = next(i for i, c in enumerate(calls) if c[3].endswith("/weights.jsonl"))
    return [c for i, c in enumerate(calls) if "weights.json" in c[2] + c[3] or named - 12 <= i <= named + 5]


PHASES = ("steps=15", "optimizer.average=0.9", "phases.warmup_steps=1", "phases.full_steps=5", "phases.correct_steps=2",
          "phases.allowance=0.99", "eval.every=0")


def calls_on_predictions(calls):
    """A few of each step's: those on the logs, and the rename that announces a checkpoint."""
    return [c for c in calls if c[2].endswith(("/metrics.jsonl", "/timing.jsonl")) or "/step-" in c[3]]


def edit(file):
    file.write_text(file.read_text().replace('"control": 1', '"control": 3'))


def make_edited(server, resume, work):
    """Resumed with an edit and killed again while it wrote step 2: the edit is due behind step 1. How it would end."""
    resume.prepare(server)
    edit(server.run / "weights.json")
    must(server.call(server.resume(), trace=work / "edited.trace"))
    expected = trial.end_of(server.run)
    second = [c for c in trial.read_trace(work / "edited.trace") if "/.tmp-2-" in c[2] and c[1] == "write"]
    resume.prepare(server)
    edit(server.run / "weights.json")
    must(server.call(server.resume(), Fault("kill", second[len(second) // 2][0])), 137)
    return expected


def make_scenarios(server, work):
    """The unbroken runs, and templates of broken ones."""
    train = Scenario("train", lambda s: s.train())
    server.clear()
    must(server.call(train.arguments(server), trace=work / "train.trace"))
    train.expected = trial.end_of(server.run)
    finished = keep(server, work, "finished")

    # Killed while it wrote step 2: with leftovers, longer logs and a stale lock.
    resume = Scenario("resume", lambda s: s.resume(), said=1)
    second = [c for c in trial.read_trace(work / "train.trace") if "/.tmp-2-" in c[2] and c[1] == "write"]
    server.clear()
    must(server.call(server.train(), Fault("kill", second[len(second) // 2][0])), 137)
    resume.template, resume.expected = keep(server, work, "broken"), train.expected

    # Step 2 was announced and is damaged; step 1 is whole.
    damaged = Scenario("damaged", lambda s: s.resume(), said=1)
    server.clear()
    must(server.call(server.train("checkpoint.keep=2")))
    flip(server.run / "step-00000002/model.safetensors", 0.5)
    damaged.template, damaged.expected = keep(server, work, "damaged"), train.expected

    # Step 1 is whole, and a log of it is damaged.
    logs = Scenario("logs", lambda s: s.resume(), said=1)
    resume.prepare(server)
    flip(server.run / "metrics.jsonl", 0)
    logs.template = keep(server, work, "damaged-log")
    must(server.call(logs.arguments(server)))
    logs.expected = trial.end_of(server.run)

    # An edit is due, the log that has it is damaged where it begins, and the weights file is gone.
    weights = Scenario("weights", lambda s: s.resume(), said=1)
    weights.expected = make_edited(server, resume, work)
    flip(server.run / "weights.jsonl", 0)
    (server.run / "weights.json").unlink()
    weights.template = keep(server, work, "damaged-weights")

    # Steps of all phases, with two predictions between them.
    phases = Scenario("phases", lambda s: s.train(*PHASES))
    server.clear()
    must(server.call(phases.arguments(server)))
    phases.expected = trial.end_of(server.run)
    if (server.run / "metrics.jsonl").read_text().count("\"jump\"") != 2:
        sys.exit("the run with phases has not two predictions")

    evaluation = Evaluation("eval", lambda s: s.evaluate())
    evaluation.template = finished
    evaluation.prepare(server)
    must(server.call(server.evaluate()))
    evaluation.expected = trial.tree(server.run)
    scenarios = [train, resume, damaged, logs, weights, phases, evaluation]
    for scenario in scenarios:
        scenario.prepare(server)
        answer = must(server.call(scenario.arguments(server), trace=work / (scenario.name + ".trace")))
        scenario.calls = trial.read_trace(work / (scenario.name + ".trace"))
        scenario.words = answer.text
        if scenario is damaged:
            scenario.calls = calls_on_damage(scenario.calls)
        if scenario is logs:
            scenario.calls = calls_on_logs(scenario.calls)
        if scenario is weights:
            scenario.calls = calls_on_weights(scenario.calls)
        if scenario is phases:
            scenario.calls = calls_on_predictions(scenario.calls)
        scenario.go_on(server, answer, verdict := trial.Verdict())
        if verdict.problems:
            sys.exit(f"{scenario.name}, without a fault: {verdict.problems}")
    return scenarios
