"""An exported run scored by EleutherAI's lm-evaluation-harness, offline: questions of our own with three answers each.

    python lm_eval.py MEDLEY OUT

The harness's accuracy is what the log probabilities of the answers give that transformers computes of the folder.
"""

import json
import os
import pathlib
import random
import shutil
import subprocess
import sys

os.environ.update(OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", TRANSFORMERS_OFFLINE="1")
sys.path = [path for path in sys.path if pathlib.Path(path).resolve() != pathlib.Path(__file__).resolve().parent]  # of the same name as this

import lm_eval
import lm_eval.tasks
import torch
import transformers

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
TASK = """task: medley_tiny
dataset_path: json
dataset_kwargs: {{data_files: {{test: {file}}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{question}}}}"
doc_to_choice: "{{{{choices}}}}"
doc_to_target: answer
target_delimiter: ""
metric_list: [{{metric: acc, aggregation: mean, higher_is_better: true}}]
metadata: {{version: 1}}
"""


def run(*command):
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}\n{done.stdout}{done.stderr}\nexit code {done.returncode}")


def export(medley, out):
    """A run of a tiny Qwen3, as a folder."""
    run(sys.executable, HERE / "make_folder.py", out / "base", SOURCE / "configs/texts/corpus.txt", "--vocabulary", "600", "--dtype", "fp32")
    stack = {"layers": 1, "heads": 4, "ffn": 64}
    (out / "model.json").write_text(json.dumps({"kind": "agent", "language": {"pretrained": str(out / "base")},
                                                "image": {"size": 128, "patch": 32}, "encoder": stack, "decoder": stack}))
    (out / "weights.json").write_text(json.dumps({"weights": {"control": 1}}))
    (out / "run.json").write_text(json.dumps({
        "model": "model.json", "tokenizer": str(out / "base/tokenizer.json"), "weights": "weights.json", "steps": 2, "threads": 1,
        "control_text": str(SOURCE / "configs/texts/control.txt"), "plan": False, "tasks": {"control": {"rows": 2}}}))
    run(medley, "train", out / "run.json", "--out", out / "run")
    run(medley, "export", out / "run", "--out", out / "exported")
    return out / "exported"


def questions():
    draw = random.Random(66)
    words = (SOURCE / "configs/texts/corpus.txt").read_text().split()
    for _ in range(20):
        begin = draw.randrange(len(words) - 10)
        choices = [" " + draw.choice(words) for _ in range(3)]
        answer = draw.randrange(3)
        choices[answer] = " " + words[begin + 6]
        yield {"question": " ".join(words[begin:begin + 6]), "choices": choices, "answer": answer}


def by_hand(folder, asked):
    """How many answers are the likeliest."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    right = 0
    for one in asked:
        begin = len(tokenizer(one["question"], add_special_tokens=False)["input_ids"])
        scores = []
        for choice in one["choices"]:
            ids = torch.tensor([tokenizer(one["question"] + choice, add_special_tokens=False)["input_ids"]])
            with torch.no_grad():
                logs = model(ids).logits[0, :-1].log_softmax(-1)
            scores.append(logs.gather(1, ids[0, 1:, None])[begin - 1:].sum().item())
        right += max(range(3), key=scores.__getitem__) == one["answer"]
    return right


def main(medley, out):
    out = pathlib.Path(out).resolve()
    shutil.rmtree(out, ignore_errors=True)
    (out / "tasks").mkdir(parents=True)
    os.environ["HF_HOME"] = str(out / "cache")
    folder, asked = export(medley, out), list(questions())
    (out / "questions.jsonl").write_text("".join(json.dumps(one) + "\n" for one in asked))
    (out / "tasks/medley_tiny.yaml").write_text(TASK.format(file=out / "questions.jsonl"))
    found = lm_eval.simple_evaluate(model="hf", model_args={"pretrained": str(folder), "dtype": "float32"}, tasks=["medley_tiny"],
                                    task_manager=lm_eval.tasks.TaskManager(include_path=str(out / "tasks"), include_defaults=False),
                                    device="cpu", batch_size=4, bootstrap_iters=0)
    accuracy = found["results"]["medley_tiny"]["acc,none"]
    right = by_hand(folder, asked)
    print(f"lm_eval {lm_eval.__version__ if hasattr(lm_eval, '__version__') else ''}: acc {accuracy}, by hand {right} of {len(asked)}")
    if abs(accuracy - right / len(asked)) > 1e-9:
        sys.exit("the harness and transformers score the folder differently")


main(*sys.argv[1:])
