"""Every verb that trains, looks at or goes on with tasks takes one in Python."""
import json
import subprocess
import time

from harness import MEDLEY, NETS, TASKS, TWINS, Folder, main


class Verbs(Folder):
    def train(self, *words, run="run", **more):
        return self.medley("train", "run.json", "--out", run, *words, **more)

    def test_plugins_check_finds_nothing_wrong_with_a_good_task(self):
        self.plugin()
        said = self.medley("plugins", "check", str(self.path / "plugins/lines.py"), plugins=[NETS])
        self.assertIn("lines.py, task line: ok with line_net", said)
        said = self.medley("plugins", "check", f"{TASKS}/chains.py", plugins=[NETS])
        self.assertIn("chains.py, task chain: ok", said)

    def test_plugins_check_names_a_mistake(self):
        self.plugin(replace=[("drawn = rows.uniform(26)", "drawn = np.random.rand(len(rows), 26)")])
        said = self.medley("plugins", "check", str(self.path / "plugins/lines.py"), plugins=[NETS], check=None)
        self.assertIn("failed while in phase 'contract'", said)

    def test_sample_shows_rows(self):
        self.plugin()
        self.config()
        said = self.medley("sample", "line", "--rows", "3", "--config", "run.json")
        self.assertIn("series", said)

    def test_a_plan_measures_and_a_budget_holds(self):
        self.plugin()
        self.config(tasks={"line": {"rows": "auto"}})
        said = self.medley("plan", "run.json", "--out", "planned", "--budget", "64MiB")
        self.assertIn("line", said)
        self.config(budget="64KiB")
        self.assertRegex(self.train(check=5), "budget")

    def test_eval_estimate_and_report(self):
        self.plugin()
        self.config()
        self.train()
        self.assertIn("error", self.medley("eval", "run", "--rows", "32", plugins=[]))
        self.assertIn("line", self.medley("estimate", "run.json"))
        self.assertIn("line", self.medley("report", "run", plugins=[]))
        self.assertIn("line", self.medley("validate", "run.json"))

    def test_a_resume_is_the_straight_run(self):
        self.plugin()
        self.config(checkpoint={"every": 7, "keep": 9})
        self.train()
        straight = self.losses("run")
        self.medley("resume", "run", "--from", "7", plugins=[])
        self.assertEqual(len(straight), 20)
        self.assertEqual(self.losses("run"), straight)

    def losses(self, run):
        lines = [json.loads(line) for line in self.metrics(run).splitlines()]
        return [(line["step"], line["loss"]) for line in lines if "loss" in line and "step" in line]

    def test_a_replay_is_the_same_bytes(self):
        self.plugin()
        self.config()
        self.train()
        self.train("--replay", "run", run="again")
        self.assertEqual(self.metrics("run"), self.metrics("again"))

    def test_two_processes(self):
        self.plugin()
        self.config(steps=6)
        self.train(run="one")
        paths = [word for path in (self.path / "plugins", NETS) for word in ("--plugin-path", str(path))]
        self.medley("launch", "-n", "2", "--", "medley", "train", "run.json", "--out", "two", *paths, plugins=[])
        losses = [[json.loads(line)["loss"] for line in self.metrics(run).splitlines() if b'"loss"' in line and b'"step"' in line] for run in ("one", "two")]
        self.assertEqual(len(losses[0]), len(losses[1]))
        for a, b in zip(*losses):
            self.assertAlmostEqual(a, b, delta=1e-5 * abs(a))

    def test_phases(self):
        self.plugin()
        self.config(steps=30, optimizer={"average": 0.9}, phases={"warmup_steps": 5, "full_steps": 5, "correct_steps": 2})
        self.train()
        self.assertIn(b'"phase"', self.metrics("run"))

    def test_an_edit_that_brings_a_further_python_task(self):
        self.plugin()
        self.plugin(name="plugins/others.py", replace=[('"name": "line"', '"name": "other"')])
        self.config(steps=4, tasks={"other": {"rows": 4}})
        self.train()
        self.write("run/weights.json", {"weights": {"line": 1, "other": 1}})
        self.medley("resume", "run", "--steps", "8", plugins=[])
        self.assertIn(b'"other"', self.metrics("run"))

    def test_an_edit_that_brings_a_further_python_task_while_it_runs(self):
        self.plugin()
        self.plugin(name="plugins/others.py", replace=[('"name": "line"', '"name": "other"')])
        self.config(steps=100000, eval={"every": 0}, tasks={"other": {"rows": 4}})
        console = open(self.path / "console", "w")
        self.addCleanup(console.close)
        running = subprocess.Popen([MEDLEY, "train", "run.json", "--out", "run", "data.threads=2", "--plugin-path", "plugins", "--plugin-path", NETS],
                                   cwd=self.path, env=self.environment, stdout=console, stderr=subprocess.STDOUT)
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)
        metrics = self.path / "run/metrics.jsonl"
        self.wait_for(lambda: metrics.exists() and metrics.stat().st_size > 2000, running)
        self.write("run/weights.json", {"weights": {"line": 1, "other": 1}})
        self.wait_for(lambda: b'"task":"other"' in metrics.read_bytes(), running)

    def test_an_edit_that_brings_the_first_python_task_is_refused_with_words(self):
        self.plugin()
        self.config("twin", steps=1000000, tasks={"twin": {"kind": "chain", "rows": 4}, "line": {"rows": 4}}, eval={"every": 0})
        console = open(self.path / "console", "w")
        self.addCleanup(console.close)
        running = subprocess.Popen(
            [MEDLEY, "train", "run.json", "--out", "run", "--plugin-path", "plugins", "--plugin-path", NETS, "--plugin-path", TWINS + "/twins.so"],
            cwd=self.path, env=self.environment, stdout=console, stderr=subprocess.STDOUT)
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)
        own = self.path / "run/weights.json"
        self.wait_for(lambda: own.exists() and (self.path / "run/metrics.jsonl").exists(), running)
        own.write_text(json.dumps({"weights": {"twin": 1, "line": 1}}))
        self.wait_for(lambda: "lines.py" in self.said(), running)
        self.assertIn("lines.py is a plugin in Python, and this process, which began without one, is none of Python's. Stop the run", self.said())
        self.assertIsNone(running.poll())

    def said(self):
        return (self.path / "console").read_text()

    def wait_for(self, happened, running):
        deadline = time.monotonic() + 120
        while not happened():
            if running.poll() is not None or time.monotonic() > deadline:
                self.fail(self.said())
            time.sleep(0.05)

    def test_one_file_under_two_names(self):
        self.plugin()
        self.config(["a", "b"], tasks={"a": {"kind": "line", "rows": 4}, "b": {"kind": "line", "rows": 4}})
        self.train()
        text = self.metrics("run").decode()
        self.assertIn('"a"', text)
        self.assertIn('"b"', text)

    def test_options_and_variants(self):
        self.plugin(replace=[
            ('"inputs": ["series"]', '"options": [{"name": "scale", "value": 0.5}, {"name": "quick", "value": True}, {"name": "side", "words": ["near", "far"]}],\n'
             '            "variants": [{"name": "double", "passes": [{"name": "look"}], "terms": [{"name": "twice"}]}], "inputs": ["series"]'),
            ("def sample", "def __init__(self, context):\n        assert (context.options['scale'], context.options['quick'], context.options['side']) == (0.25, False, 'far')\n"
             "        self.term = 'twice' if context.variant == 'double' else 'error'\n        assert context.model['width'] == 64\n\n    def sample"),
            ('return {"error":', 'return {self.term:')])
        self.config(tasks={"line": {"rows": 4, "variant": "double", "options": {"scale": 0.25, "quick": False, "side": "far"}}})
        self.train()
        self.assertIn(b"twice", self.metrics("run"))


if __name__ == "__main__":
    main(3)
