"""Runs of every version that was released go on, are scored, shown, exported and repeated.

    python3 old_runs_test.py MEDLEY
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent
RUNS = sorted(file.parent for file in HERE.glob("[0-9]*/*/metrics.jsonl"))
KINDS = {"plain", "bf16", "8bit", "muon", "phases", "adapters", "divided", "stages"}
# Of a loss, between machines: the runs were made on one, with its kernels.
CLOSE = 2e-3


def steps(file):
    """Its steps, without the changes of phase between them."""
    return [record for record in map(json.loads, file.read_text().splitlines()) if "draws" in record]


class OldRuns(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.scratch = pathlib.Path(folder.name)

    def medley(self, *words, processes=1):
        command = [MEDLEY] if processes == 1 else [MEDLEY, "launch", "-n", str(processes), "--", MEDLEY]
        done = subprocess.run([*command, *map(str, words)], cwd=self.scratch, env={**os.environ, "OMP_NUM_THREADS": "1"},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # fmt: skip
        self.assertEqual(done.returncode, 0, f"medley {' '.join(map(str, words))}\n{done.stdout}")
        return done.stdout

    def each(self, look):
        """Looks at every run, in a folder of its own beside what it was made of."""
        for run in RUNS:
            with self.subTest(version=run.parent.name, kind=run.name):
                place = self.scratch / run.parent.name
                shutil.copytree(run.parent / "inputs", place / "inputs", dirs_exist_ok=True)
                look(shutil.copytree(run, place / run.name), processes=2 if run.name == "divided" else 1)

    def expect_steps(self, found, expected):
        self.assertEqual([record["step"] for record in found], [record["step"] for record in expected])
        for mine, theirs in zip(found, expected):
            self.assertEqual([draw["task"] for draw in mine["draws"]], [draw["task"] for draw in theirs["draws"]])
            self.assertEqual([draw["begin"] for draw in mine["draws"]], [draw["begin"] for draw in theirs["draws"]])
            self.assertAlmostEqual(mine["loss"], theirs["loss"], delta=CLOSE * abs(theirs["loss"]), msg=f"step {mine['step']}")

    def test_each_version_has_one_of_each_kind(self):
        self.assertTrue(RUNS)
        for version in {run.parent for run in RUNS}:
            self.assertLessEqual(KINDS, {run.name for run in RUNS if run.parent == version}, version.name)

    def test_they_go_on_as_their_own_version_did(self):
        def look(run, processes):
            before = (run / "metrics.jsonl").read_bytes()
            self.medley("resume", run, "--steps", "8", processes=processes)
            self.assertTrue((run / "metrics.jsonl").read_bytes().startswith(before))
            self.expect_steps(steps(run / "metrics.jsonl")[4:], steps(run / "after.jsonl"))

        self.each(look)

    def test_they_are_scored_shown_and_exported(self):
        def look(run, processes):
            self.assertIn("arrow_to_gold", self.medley("eval", run, "--rows", "8"))
            page = run.parent / f"{run.name}.html"
            self.assertIn("arrow_to_gold", self.medley("report", run))
            self.medley("report", run, "--html", page)
            self.assertIn("arrow_to_gold", page.read_text())
            exported = run.parent / f"{run.name}-exported"
            self.medley("export", run, "--out", exported)
            self.assertTrue((exported / "config.json").exists() and (exported / "model.safetensors").exists())

        self.each(look)
        for version in {run.parent for run in RUNS}:
            table = self.medley("runs", self.scratch / version.name)
            for kind in KINDS:
                self.assertRegex(table, rf"\n\W*{kind}\W.*ended")

    def test_they_are_repeated_with_their_edits(self):
        def look(run, processes):
            again = run.parent / f"{run.name}-again"
            self.medley("train", run / "config.resolved.json", "--replay", run, "--out", again, processes=processes)
            self.expect_steps(steps(again / "metrics.jsonl"), steps(run / "metrics.jsonl"))

        self.each(look)


if __name__ == "__main__":
    MEDLEY = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
