"""A folder with configs, and the command in it."""
import json
import os
import pathlib
import subprocess
import tempfile
import textwrap
import unittest

BUILD = pathlib.Path(os.environ["MEDLEY_BUILD"])
SOURCE = pathlib.Path(os.environ["MEDLEY_SOURCE"])
HERE = SOURCE / "tests/python"
MEDLEY = str(BUILD / "bin/medley")
NETS = str(BUILD / "tests/python/nets")
TWINS = str(BUILD / "tests/python/twins")
TASKS = str(HERE / "tasks")

LINE = '''
    import medley
    import numpy as np
    import torch


    class Lines(medley.Task):
        spec = {"name": "line", "passes": [{"name": "look"}], "terms": [{"name": "error"}], "inputs": ["series"],
                "outputs": ["values"], "score": {"name": "error", "higher_is_better": False}}

        def sample(self, rows):
            drawn = rows.uniform(26).astype(np.float32)
            return {"series": drawn[:, 2:], "targets": drawn[:, :2]}

        def run(self, name, context):
            return {"error": self.score(context).sum()}

        def score(self, context):
            values = context.forward({"series": context["series"]}, ["values"])["values"]
            return (values - context["targets"]).square().mean(1)
'''


class Folder(unittest.TestCase):
    """Each test has a folder of its own, gone with it."""

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory(prefix="medley_python_")
        self.path = pathlib.Path(self._folder.name).resolve()
        self.addCleanup(self._folder.cleanup)
        self.environment = {**os.environ, "XDG_STATE_HOME": str(self.path / "state"), "XDG_DATA_HOME": str(self.path / "data")}
        for name in ("PYTHONPATH", "PYTHONSAFEPATH"):  # what the command finds, it finds by itself
            self.environment.pop(name, None)

    def write(self, name, text):
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text if isinstance(text, str) else json.dumps(text))
        return file

    def plugin(self, text=LINE, name="plugins/lines.py", replace=()):
        text = textwrap.dedent(text)
        for old, new in replace:
            assert old in text, old
            text = text.replace(old, new)
        return self.write(name, text)

    def config(self, task="line", model="line_net", **more):
        self.write("model.json", {"kind": model})
        self.write("weights.json", {"weights": {task: 1} if isinstance(task, str) else {name: 1 for name in task}})
        run = {
            "model": "model.json",
            "weights": "weights.json",
            "steps": 20,
            "budget": "1GiB",
            "seed": 1,
            "threads": 1,
            "eval": {"rows": 16, "every": 10},
            "optimizer": {"learning_rate": 3e-3, "warmup_steps": 2},
            "tasks": {name: {"rows": 8} for name in ([task] if isinstance(task, str) else task)},
        }
        for key, value in more.items():
            run[key] = {**run[key], **value} if isinstance(value, dict) and isinstance(run.get(key), dict) else value
        return self.write("run.json", run)

    def medley(self, *words, check=0, plugins=None, **more):
        """What it said, both streams together."""
        paths = [str(self.path / "plugins"), NETS] if plugins is None else plugins
        named = [word for path in paths for word in ("--plugin-path", str(path))]
        done = subprocess.run(
            [MEDLEY, *map(str, words), *named], cwd=self.path, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**self.environment, **more.pop("env", {})}, timeout=300, **more
        )
        if check is not None:
            self.assertEqual(done.returncode, check, done.stdout)
        return done.stdout

    def metrics(self, run):
        return (self.path / run / "metrics.jsonl").read_bytes()


class _Slice(unittest.TestLoader):
    def __init__(self, parts):
        super().__init__()
        self._parts = parts

    def getTestCaseNames(self, case):
        names, sweep = super().getTestCaseNames(case), os.environ.get("MEDLEY_SWEEP")
        return [name for i, name in enumerate(names) if not sweep or (i + int(sweep)) % self._parts == 0]


def main(parts):
    """Of a long file's tests those of every `parts`-th place, which MEDLEY_SWEEP chooses; without it all."""
    unittest.main(testLoader=_Slice(parts))
