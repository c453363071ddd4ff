"""Classifiers through medley export, opened in plain torch: the models of plugins/signs, each as its own model.py computes it.

    python classifier.py MEDLEY PLUGINS CONFIGS AUTHORS OUT

PLUGINS: the folder with signs.so; CONFIGS: plugins/signs/tests/configs; AUTHORS: that with spring.so, whose model is an MlpModel.
"""

import json
import pathlib
import runpy
import shutil
import subprocess
import sys

import torch

# A model's file, and what differs from it.
MODELS = {"bdslw": ("test-model.json", []), "spoter": ("test-spoter.json", []), "shared": ("test-shared.json", []),
          "blind": ("test-model.json", ["model.positions=none", "model.activation=relu"])}


def run(*command, code=0):
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != code:
        sys.exit(f"{' '.join(words)}\n{done.stdout}{done.stderr}\nexit code {done.returncode}, expected {code}")
    return done.stdout + done.stderr


def opened(folder):
    """What its model.py defines, in this process: torch takes seconds to import."""
    module = runpy.run_path(str(folder / "model.py"), run_name="opened")
    if module["check"](folder) != 0:
        sys.exit(f"{folder}: model.py gives something else than medley")
    return module


def export_mlp(medley, authors, out):
    """One without a model.py of its own, as it is medley's class."""
    (out / "net.json").write_text(json.dumps({"kind": "spring_net"}))
    (out / "mlp-weights.json").write_text(json.dumps({"weights": {"spring_class": 1}}))
    (out / "mlp.json").write_text(json.dumps({"model": "net.json", "weights": "mlp-weights.json", "steps": 2, "threads": 1, "plan": False,
                                              "plugin_path": [str(authors)], "tasks": {"spring_class": {"rows": 4}}}))
    run(medley, "train", out / "mlp.json", "--out", out / "mlp/run", "--plugin-path", authors)
    run(medley, "export", out / "mlp/run", "--out", out / "mlp/exported", "--plugin-path", authors)
    module = opened(out / "mlp/exported")
    for name, number in (("nan", b"\0\0\xc0\x7f"), ("huge", b"\0\0\x80\x7e")):
        broken = shutil.copytree(out / "mlp/exported", out / f"mlp/{name}")
        data = (broken / "model.safetensors").read_bytes()
        begin = 8 + int.from_bytes(data[:8], "little")  # of the first layer
        (broken / "model.safetensors").write_bytes(data[:begin] + number + data[begin + 4:])
        if module["check"](broken) != 1:
            sys.exit(f"{broken}: a weight that is another one is not seen")


def main(medley, plugins, configs, authors, out):
    configs, out = pathlib.Path(configs).resolve(), pathlib.Path(out).resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    for name, (file, changes) in MODELS.items():
        model = json.loads((configs / file).read_text())
        model.update(change.removeprefix("model.").split("=") for change in changes)
        (out / f"{name}.json").write_text(json.dumps(model))
        config = json.loads((configs / "test.json").read_text())
        config.update(model=f"{name}.json", weights=str(configs / config["weights"]), plugin_path=[str(plugins)], plan=False)
        config.pop("budget", None)
        (out / f"run-{name}.json").write_text(json.dumps(config))
        run(medley, "train", out / f"run-{name}.json", "--out", out / name / "run", "--plugin-path", plugins)
        exported = out / name / "exported"
        run(medley, "export", out / name / "run", "--out", exported)
        module = opened(exported)
        if name != "bdslw":
            continue
        # It can fail: a number that is another one is seen.
        labels = json.loads((exported / "labels.json").read_text())["signs"]
        rows = module["read"](exported / "check.safetensors")
        if len(labels) != rows["out.logits"].shape[1] or len(rows["in.poses"]) != 4:
            sys.exit(f"{exported}: {len(labels)} labels and {len(rows['in.poses'])} rows")
        broken = shutil.copytree(exported, out / "broken")
        data = bytearray((broken / "model.safetensors").read_bytes())
        data[8 + int.from_bytes(data[:8], "little") + 3] ^= 0x40  # of the class token; at the end stand places that no clip has
        (broken / "model.safetensors").write_bytes(data)
        if module["check"](broken) != 1:
            sys.exit("a damaged weight is not seen")
        exported_program = torch.export.export(module["Model"](exported), (rows["in.poses"], rows["in.lengths"]))
        if not torch.allclose(exported_program.module()(rows["in.poses"], rows["in.lengths"]), rows["out.logits"], atol=1e-5):
            sys.exit("torch.export gives something else")
    export_mlp(medley, authors, out)
    # Without a model.py beside the plugin the rest is written, and that it is missing is said.
    alone = out / "plugins"
    alone.mkdir()
    shutil.copy(pathlib.Path(plugins) / "signs.so", alone)
    words = run(medley, "export", out / "bdslw" / "run", "--out", out / "without", "--plugin-path", alone)
    if "there is no model.py in it" not in words or (out / "without" / "model.py").exists():
        sys.exit(words)


main(*sys.argv[1:])
