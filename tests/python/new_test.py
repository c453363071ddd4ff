"""What `medley new --lang python` makes passes its check, trains and is better than chance, by its README's commands."""
import json
import re
import subprocess
import sys
import unittest

from harness import MEDLEY, Folder

KINDS = ["reply", "chat", "preference", "question", "picture", "classify", "regress"]


class New(Folder):
    def run_command(self, command, check=0, **more):
        done = subprocess.run(command, cwd=self.path, env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, **more)
        if check is not None:
            self.assertEqual(done.returncode, check, f"{command}\n{done.stdout}")
        return done.stdout

    def make(self, kind):
        self.run_command([MEDLEY, "new", "mine", "--kind", kind, "--lang", "python"])
        readme = (self.path / "mine/README.md").read_text()
        return re.search("```sh\n(.*?)```", readme, re.DOTALL).group(1).splitlines()

    def test_a_model_is_cpps(self):
        self.assertIn("a model is no part of Python", self.run_command([MEDLEY, "new", "mine", "--kind", "model", "--lang", "python"], check=2))

    def test_a_task_is_at_most_25_lines(self):
        for kind in ("reply", "regress", "classify"):
            self.make(kind)
            text = (self.path / "mine/mine.py").read_text()
            self.assertLessEqual(len([line for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]), 25, text)
            subprocess.run(["rm", "-r", self.path / "mine"], check=True)


def try_kind(kind):
    def test(self):
        commands = self.make(kind)
        self.assertEqual(len(commands), 4)
        for command in commands:
            self.run_command("cd mine && " + command, shell=True)
        score = json.loads((self.path / "mine/run/eval.json").read_text())["tasks"]["mine"]
        if kind == "picture":
            self.assertLess(score["high"], score["trivial"]["the input as it is"])
        else:
            self.assertGreater(score["low"], score["chance"])

    return test


for kind in KINDS if "--all" in sys.argv else ["reply"]:
    setattr(New, f"test_{kind}", try_kind(kind))


if __name__ == "__main__":
    unittest.main(argv=[word for word in sys.argv if word != "--all"])
