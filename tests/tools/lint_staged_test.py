"""What tools/lint --staged says of a small tree, by itself and as a hook. reuse is a script."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOOK = "#!/bin/sh\nexec tools/lint --staged\n"
# Says which file it was asked about has its words.
REUSE = """#!/bin/sh
[ "$3" = lint-file ] || exit 2
shift 3
! grep -l nobodys "$@"
"""


@unittest.skipUnless(shutil.which("clang-format"), "there is no clang-format here")
class Staged(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)
        for name in ("tools/lint", "tools/lint-staged", "tests/docs/links", ".clang-format"):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)
        self.write(".venv/bin/reuse", REUSE).chmod(0o755)
        self.write(".gitignore", "/.venv/\n")
        self.write("docs/README.md", "# Pages\n")
        self.write("core/a.cc", "int a = 1;\n")
        self.git("init", "--quiet")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "Begin")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def git(self, *words, code=0):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        done = subprocess.run(["git", "-c", "user.name=medley", "-c", "user.email=medley@localhost", *words], cwd=self.root, env=environment,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def lint(self, code):
        done = subprocess.run(["tools/lint", "--staged"], cwd=self.root, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def stage(self, name, text):
        self.write(name, text)
        self.git("add", name)

    def test_what_is_wrong_is_named(self):
        python, bash = "#!/usr/bin/env python3\n", "#!/usr/bin/env bash\n"
        cases = {"core/a.cc": ("int   a=1;\n", "int a = 2;\n"), "core/b.txt": ("nobodys\n", "ours\n"), "core/c.txt": ("blank \n", "blank\n"),
                 "tools/run.py": ("if:\n", "pass\n"), "tools/run": (f"{python}if:\n", python), "tools/go": (f"{bash}if\n", bash),
                 "configs/a.json": ("{\n", "{}\n"), "docs/README.md": ("[a](a.md)\n", "# All pages\n")}
        for name, (wrong, _) in cases.items():
            self.stage(name, wrong)
        said = self.lint(1)
        for name in cases:
            self.assertIn(name, said)
        for name, (_, right) in cases.items():
            self.stage(name, right)
        self.assertIn(f"{len(cases)} staged files are fine", self.lint(0))
        for name in list(cases)[1:]:  # each alone is enough
            self.stage(name, cases[name][0])
            self.lint(1)
            self.stage(name, cases[name][1])

    def test_the_index_counts_and_not_the_working_tree(self):
        self.assertIn("nothing is staged", self.lint(0))
        self.stage("core/a.cc", "int   a=1;\n")
        self.write("core/a.cc", "int a = 2;\n")
        self.lint(1)
        self.git("add", "core/a.cc")
        self.write("core/a.cc", "int   a=1;\n")
        self.write("docs/README.md", "[a](a.md)\n")
        self.lint(0)

    def test_what_is_made_to_be_wrong_may_be(self):
        self.stage("tests/fuzz/corpus/json/a.json", "{ \n")
        self.stage("tools/templates/a.cc", "int   @a@;\n")
        self.lint(0)

    def test_as_a_hook_it_keeps_a_commit_back(self):
        self.write(".git/hooks/pre-commit", HOOK).chmod(0o755)
        self.write("core/a.cc", "int   a=1;\n")
        self.assertIn("core/a.cc", self.git("commit", "--all", "--message", "Spread", code=1))
        self.write("core/a.cc", "int a = 2;\n")
        self.git("commit", "--all", "--message", "Count")
        self.assertIn("Count", self.git("log", "-1"))

    def test_without_what_it_needs_it_says_so(self):
        (self.root / ".venv/bin/reuse").unlink()
        self.stage("core/a.cc", "int a = 2;\n")
        self.assertIn("tools/setup --tests", self.lint(1))


if __name__ == "__main__":
    unittest.main()
