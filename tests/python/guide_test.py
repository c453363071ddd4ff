"""docs/tasks-in-python.md: its task trains as it stands there, and its mistake is told as it says."""
import json
import re
import unittest

from harness import SOURCE, Folder

PAGE = (SOURCE / "docs/tasks-in-python.md").read_text()


class Guide(Folder):
    def make(self, **more):
        text = re.search(r"```python file=lines/lines.py\n(.*?)```", PAGE, re.DOTALL).group(1)
        self.plugin(text, **more)
        self.config("lines", "mlp", steps=300, eval={"rows": 256}, tasks={"lines": {"rows": 64}})
        return text

    def test_its_task_has_at_most_25_lines_and_learns(self):
        text = self.make()
        self.assertLessEqual(len([line for line in text.splitlines() if line.strip()]), 25)
        self.medley("plugins", "check", "plugins/lines.py", "--config", "run.json", plugins=[])
        self.medley("eval", "run.json", "--out", "before", plugins=["plugins"])
        self.medley("train", "run.json", "--out", "run", plugins=["plugins"])
        self.medley("eval", "run", plugins=[])
        self.assertLess(self.score("run"), self.score("before") / 4)

    def score(self, run):
        return json.loads((self.path / run / "eval.json").read_text())["tasks"]["lines"]["value"]

    def test_a_mistake_is_told_as_the_page_says(self):
        self.make(replace=[('context["targets"]', 'context["series"]')])
        said = self.medley("train", "run.json", "--out", "run", plugins=["plugins"], check=1)
        lines = said[said.index("medley: plugin"):].splitlines()
        self.assertRegex(lines[0], r"plugin 'lines' \(task lines, while running pass look.*plugins/lines.py:22: RuntimeError: The size of tensor a \(2\) must match")
        self.assertEqual(lines[1], '  in score, plugins/lines.py:22: return (values - context["series"]).square().mean(1)')
        self.assertEqual(lines[2], '  in run, plugins/lines.py:18: return {"error": self.score(context).sum()}')


if __name__ == "__main__":
    unittest.main()
