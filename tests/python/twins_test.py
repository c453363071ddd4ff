"""A task in Python trains what its twin in C++ does: metrics byte for byte, plans and peaks too."""
import json
import re
import unittest

from harness import NETS, TASKS, TWINS, Folder


class Twins(Folder):
    def train(self, name, plugins, *words, **more):
        self.medley("train", "run.json", "--out", name, *words, plugins=[NETS, plugins], **more)
        return self.metrics(name)

    def assert_twins(self, *words):
        of_python, of_cpp = self.train("py", TASKS, *words), self.train("cc", TWINS, *words)
        self.assertGreater(len(of_cpp), 1000)
        self.assertEqual(of_python, of_cpp)

    def test_lines(self):
        self.config("line", steps=200, eval={"rows": 128, "every": 100}, tasks={"line": {"rows": 32}})
        self.assert_twins()
        for threads in (0, 2):
            self.assertEqual(self.train(f"data{threads}", TASKS, f"data.threads={threads}"), self.metrics("cc"))

    def test_pictures(self):
        self.config("box", "box_net")
        self.assert_twins()

    def test_all_that_a_pass_may_use(self):
        self.config("chain", steps=40)
        self.assert_twins()
        self.assert_same_plans()

    def test_plans_and_peaks_where_layers_run_again(self):
        self.config("chain", tasks={"chain": {"rows": 64}})
        for run, plugins in (("py", TASKS), ("cc", TWINS)):
            self.train(run, plugins, "tasks.chain.mode=two_stage", "tasks.chain.recompute_every=1")
        self.assertEqual(self.metrics("py"), self.metrics("cc"))
        self.assert_same_plans()

    def assert_same_plans(self):
        def plan(run):
            return json.loads((self.path / run / "plan.json").read_text())

        def without_builds(text):
            return re.sub(r'"(plugin|build_id|made|version)": "[^"]*"|"(ms_per_step|seconds)": [0-9.e-]+', "", json.dumps(text))

        self.assertEqual(without_builds(plan("py")), without_builds(plan("cc")))
        receipts = [json.loads((self.path / run / "receipt.json").read_text()) for run in ("py", "cc")]
        self.assertEqual(*map(without_builds, receipts))

    def test_beside_each_other(self):
        self.config(["line", "box"], steps=1)  # no model takes both
        said = self.medley("train", "run.json", "--out", "no", plugins=[NETS, TASKS], check=2)
        self.assertIn("picture", said)


if __name__ == "__main__":
    unittest.main()
