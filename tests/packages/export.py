"""The way of published weights through medley: a folder as Qwen3's, with a vocabulary of its own, is trained on all tasks of
the game, resumed, exported and opened by transformers.

    python export.py MEDLEY WRITE_LOGITS OUT [--steps N] [--adapters] [KEY=VALUE ...]

MEDLEY: the command; WRITE_LOGITS: the program of write_logits.cc. Steps are done in two halves. --adapters: in bf16, of adapters
and rows of new tokens, which peft opens too. KEY=VALUE go to medley train.
"""

import argparse
import json
import os
import pathlib
import runpy
import shutil
import subprocess
import sys

import in_process

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CORPUS = SOURCE / "configs" / "texts" / "corpus.txt"
STACK = {"layers": 1, "heads": 4, "ffn": 64}


def run(*command):
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}\n{done.stdout}{done.stderr}\nexit code {done.returncode}")
    return done.stdout


def write_configs(base, out):
    """A run of two rows a task; the pictures' parts begin anew."""
    weights = SOURCE / "configs" / "weights" / "seed-000.json"
    tasks = json.loads(weights.read_text())["weights"]
    (out / "model.json").write_text(json.dumps({
        "kind": "agent", "language": {"pretrained": str(base)}, "image": {"size": 128, "patch": 16},
        "encoder": STACK, "decoder": STACK}))
    (out / "run.json").write_text(json.dumps({
        "model": "model.json", "tokenizer": str(base / "tokenizer.json"), "weights": str(weights),
        "control_text": str(SOURCE / "configs" / "texts" / "control.txt"), "threads": 1, "plan": False,
        "tasks": {task: {"rows": 2} for task in tasks}}))
    return len(tasks)


def language_of(folder, out):
    """A folder without what medley alone knows."""
    out.mkdir()
    for file in folder.iterdir():
        if file.name not in ("medley_image.safetensors", "check.safetensors", "model.py", "medley.json"):
            (out / file.name).symlink_to(file)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("medley")
    parser.add_argument("write_logits")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--adapters", action="store_true")
    parser.add_argument("settings", nargs="*", metavar="KEY=VALUE")
    arguments = parser.parse_args()
    os.environ.update(OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1")
    out = arguments.out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    base, trained, exported, expected = out / "base", out / "run", out / "exported", out / "expect.safetensors"
    settings = ["dtype=bf16", "lora.rank=4"] * arguments.adapters + arguments.settings

    in_process.run("make_folder.py", base, CORPUS, "--vocabulary", "1200", "--dtype", "bf16" if arguments.adapters else "fp32")
    tasks = write_configs(base, out)
    run(arguments.medley, "train", out / "run.json", "--out", trained, f"steps={arguments.steps // 2}", *settings)
    run(arguments.medley, "resume", trained, "--steps", arguments.steps)
    run(arguments.medley, "export", trained, "--out", exported)
    steps = [json.loads(line) for line in (trained / "metrics.jsonl").read_text().splitlines()]
    print(f"{len(steps)} steps of {tasks} tasks, exported to {exported}")
    run(arguments.write_logits, language_of(exported, out / "language"), CORPUS, expected)
    in_process.run("open_export.py", exported, expected, "--text")
    # The same with pictures, in plain torch.
    module = runpy.run_path(str(exported / "model.py"), run_name="opened")
    if module["check"](exported) != 0:
        sys.exit(f"{exported}: model.py gives something else than medley")
    broken = shutil.copytree(exported, out / "broken")
    images = (broken / "medley_image.safetensors").read_bytes()
    (broken / "medley_image.safetensors").write_bytes(images[:-4] + b"\0\0\xc0\x7f")  # a NaN
    if module["check"](broken) != 1:
        sys.exit(f"{broken}: a weight that is no number is not seen")
    if arguments.adapters:
        run(arguments.medley, "export", trained, "--adapter", "--out", out / "adapter")
        in_process.run("open_adapter.py", base, out / "adapter", expected, "--dtype", "bf16")
    before, after = (base / "model.safetensors").read_bytes(), (exported / "model.safetensors").read_bytes()
    if before == after:
        sys.exit("the exported weights are those that the run began with")


if __name__ == "__main__":
    main()
