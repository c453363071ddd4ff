"""A run as an object: in steps, stopped, edited, scored, shown."""
import ctypes
import html
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest

import numpy as np
import torch
from torch.utils import checkpoint

import harness
import medley
from medley import _medley

SOURCE = pathlib.Path(os.environ["MEDLEY_SOURCE"])
COMMAND = pathlib.Path(os.environ["MEDLEY_BUILD"]) / "bin/medley"
CONFIG = SOURCE / "configs/runs/quickstart.json"
SMALL = dict(plan=False, threads=1, hours=0, seed=5, steps=12, tensorboard=False, eval={"every": 5, "rows": 4}, checkpoint={"every": 4},
             tasks={"control": {"rows": 2}, "zoom_gold": {"rows": 2}})  # fmt: skip
WEIGHTS = {"unit": "steps", "weights": {"control": 1, "zoom_gold": 0}}


class SessionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Every long call of these tests is one without the GIL.
        _medley.watch_gil(ctypes.cast(ctypes.pythonapi.PyGILState_Check, ctypes.c_void_p).value)
        cls.folder = tempfile.TemporaryDirectory()
        cls.scratch = pathlib.Path(cls.folder.name)
        (cls.scratch / "weights.json").write_text(json.dumps(WEIGHTS))
        with cls.begin("straight") as run:
            run.train()
        cls.straight = cls.bytes_of("straight")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def begin(cls, name, **more):
        return medley.Session(CONFIG, cls.scratch / name, progress=False, weights=cls.scratch / "weights.json", **{**SMALL, **more})

    @classmethod
    def bytes_of(cls, name):
        return (cls.scratch / name / "metrics.jsonl").read_bytes()

    def checkpoints(self, name):
        return sorted(path.name for path in (self.scratch / name).glob("step-*"))

    def size(self, name):
        metrics = self.scratch / name / "metrics.jsonl"
        return metrics.stat().st_size if metrics.exists() else 0

    def interrupt_at_a_step(self, name):
        """Ctrl-C, once the run has done one from here on."""
        before = self.size(name)

        def interrupt():
            while self.size(name) <= before:
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt, daemon=True).start()

    def test_it_is_the_commands_run(self):
        words = ["--out", str(self.scratch / "command"), f"weights={self.scratch / 'weights.json'}", "plan=false", "threads=1", "hours=0",
                 "seed=5", "steps=12", "tensorboard=false", "eval.every=5", "eval.rows=4", "checkpoint.every=4", "tasks.control.rows=2",
                 "tasks.zoom_gold.rows=2"]  # fmt: skip
        subprocess.run([COMMAND, "train", CONFIG, *words], check=True, stdout=subprocess.DEVNULL)
        self.assertEqual(self.bytes_of("command"), self.straight)

    def test_a_program_hears_of_its_events_and_not_that_it_goes_only_so_far(self):
        heard = self.scratch / "events.jsonl"
        with self.begin("events", on_event=["sh", "-c", f"cat >> '{heard}'"]) as run:
            run.train(4)
            run.train()
            events = [json.loads(line) for line in heard.read_text().splitlines()]
        self.assertEqual([(event["event"], event["step"]) for event in events], [("checkpoint", 4), ("checkpoint", 8), ("checkpoint", 12), ("end", 12)])
        self.assertEqual(events[-1]["run"], run.directory)
        self.assertEqual(self.bytes_of("events"), self.straight)

    def test_steps_yield_their_records_and_are_saved_at_the_end_alone(self):
        with self.begin("steps", checkpoint={"every": 0}) as run:
            self.assertEqual(run.train(2)["step"], 2)
            seen = []
            for record in run.steps(5):
                seen.append(record["step"])
                self.assertEqual(run.step, record["step"])
                self.assertGreater(record["timing"]["seconds"], 0)
                self.assertEqual(record["draws"][0]["task"], "control")
            self.assertEqual(seen, [3, 4, 5, 6, 7])
            self.assertTrue(any(name.endswith("7") for name in self.checkpoints("steps")), self.checkpoints("steps"))
            self.assertFalse(any(name.endswith("6") for name in self.checkpoints("steps")))
            for record in run.steps(100):
                if record["step"] == 9:
                    break
            self.assertTrue(any(name.endswith("9") for name in self.checkpoints("steps")), "a loop that is left saves too")
            self.assertEqual([record["step"] for record in run.steps()], [10, 11, 12])
            self.assertEqual(list(run.steps(3)), [], "all steps are done")
        self.assertEqual(self.bytes_of("steps"), self.straight)

    def test_a_resume_goes_on(self):
        with self.begin("resumed") as run:
            run.train(5)
        with medley.Session.resume(self.scratch / "resumed", progress=False) as run:
            self.assertEqual(run.step, 5)
            self.assertEqual(run.train()["step"], 12)
            self.assertEqual(run.code, 0)
        self.assertEqual(self.bytes_of("resumed"), self.straight)
        self.assertEqual(run.step, -1)
        with self.assertRaisesRegex(medley.Error, "this session is closed"):
            run.train(1)

    def test_a_second_one_is_refused(self):
        with self.begin("first") as run:
            with self.assertRaisesRegex(medley.Error, "this process has a session open already, of .*first") as raised:
                self.begin("second")
            self.assertEqual(raised.exception.code, 2)
            self.assertFalse((self.scratch / "second").exists())
            run.train(1)
        self.begin("second").close()

    def test_what_the_program_has_set_in_torch_stays_and_is_not_heeded(self):
        torch.manual_seed(3)
        expected = torch.rand(4)
        torch.manual_seed(3)
        threads = torch.get_num_threads()
        torch.set_num_threads(3)
        torch.set_default_dtype(torch.float64)
        try:
            with self.begin("settings") as run, torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
                run.train(4)
                for _ in run.steps(3):
                    self.assertEqual(torch.get_num_threads(), 3)
                    self.assertFalse(torch.is_grad_enabled())
                    self.assertTrue(torch.is_autocast_enabled("cpu"))
                run.evaluate(4)
                run.train()
            self.assertEqual(torch.get_default_dtype(), torch.float64)
            self.assertEqual(torch.get_num_threads(), 3)
        finally:
            torch.set_default_dtype(torch.float32)
            torch.set_num_threads(threads)
        self.assertTrue(torch.equal(torch.rand(4), expected))
        self.assertEqual(self.bytes_of("settings"), self.straight)

    def test_an_edit_keeps_what_it_does_not_say(self):
        with self.begin("edited") as run:
            run.train(6)
            with self.assertRaisesRegex(medley.Error, "weights.zoom_glod: no such task; did you mean 'zoom_gold'"):
                run.edit({"weights": {"zoom_glod": 1}})
            run.edit({"weights": {"control": 1, "zoom_gold": 5}})
            self.assertEqual(json.loads((self.scratch / "edited/weights.json").read_text())["unit"], "steps")
            run.train()
            drawn = [record["draws"][0]["task"] for record in run.metrics()]
        self.assertEqual(drawn[:6], ["control"] * 6)
        self.assertEqual(drawn[6:].count("zoom_gold"), 5)

    def test_scores_and_metrics(self):
        with self.begin("scored") as run:
            run.train(5)
            scores = run.evaluate()
            metrics = run.metrics()
            self.assertEqual(scores, metrics[-1]["eval"])
            self.assertEqual(run.evaluate(7)["control"]["rows"], 7)
            run.train()
            columns = run.metrics().columns()
        self.assertEqual(self.bytes_of("scored"), self.straight)
        np.testing.assert_array_equal(columns["step"], np.arange(1, 13))
        self.assertEqual(columns["loss"].dtype, np.float64)
        self.assertFalse(np.isnan(columns["loss"]).any())
        score = next(column for name, column in columns.items() if name.startswith("eval.control"))
        np.testing.assert_array_equal(np.isnan(score), [step not in (5, 10) for step in range(1, 13)])

    def test_the_page_and_the_progress(self):
        told = []
        with medley.Session(CONFIG, self.scratch / "shown", progress=lambda *words: told.append(words),
                            weights=self.scratch / "weights.json", **SMALL) as run:  # fmt: skip
            run.train()
            shown = run._repr_html_()
        self.assertEqual({kind for kind, _ in told} - {"warning"}, {"said", "status"})
        self.assertTrue(any(text.startswith("step 1/12") or text.startswith("1/12") for kind, text in told if kind == "status"), told)
        self.assertTrue(shown.startswith("<iframe srcdoc="))
        self.assertIn("<html", html.unescape(shown))
        self.assertNotIn("<html", shown)

    def test_a_callable_that_fails_costs_its_line_alone(self):
        def fails(*_):
            raise ValueError("no screen")

        hook, lost = sys.unraisablehook, []
        sys.unraisablehook = lambda unraisable: lost.append(str(unraisable.exc_value))
        try:
            with medley.Session(CONFIG, self.scratch / "lost", progress=fails, weights=self.scratch / "weights.json", **SMALL) as run:
                run.train()
        finally:
            sys.unraisablehook = hook
        self.assertIn("no screen", lost)
        self.assertEqual(self.bytes_of("lost"), self.straight)

    def test_ctrl_c_saves_and_leaves_the_session_usable(self):
        with self.begin("stopped", steps=100000, eval={"every": 0, "rows": 4}, checkpoint={"every": 0}) as run:
            for stopped in (lambda: run.train(), lambda: [None for _ in run.steps()]):
                self.interrupt_at_a_step("stopped")
                with self.assertRaises(KeyboardInterrupt):
                    stopped()
                step = run.step
                self.assertGreater(step, 0)
                self.assertTrue(any(name.endswith(str(step)) for name in self.checkpoints("stopped")), self.checkpoints("stopped"))
            self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
            self.assertEqual(run.train(2)["step"], step + 2, "it goes on")

    def test_another_handler_hears_of_ctrl_c(self):
        heard = []
        before = signal.signal(signal.SIGINT, lambda *_: heard.append(True))
        try:
            with self.begin("heard", steps=100000, eval={"every": 0, "rows": 4}) as run:
                self.interrupt_at_a_step("heard")
                run.train()
                self.assertEqual(run.code, 130)
        finally:
            signal.signal(signal.SIGINT, before)
        self.assertEqual(heard, [True])

    def test_other_threads_run_meanwhile_and_cannot_use_it(self):
        with self.begin("threads", steps=100000, eval={"every": 0, "rows": 4}) as run:
            trains = threading.Thread(target=run.train, args=(150,))
            trains.start()
            counted, refused = 0, 0
            while trains.is_alive() and not self.size("threads"):
                time.sleep(0.001)
            while trains.is_alive():
                counted += 1
                try:
                    run.evaluate(2)
                except medley.Error as error:
                    refused += "in a call of another thread" in str(error)
                time.sleep(0.001)
            trains.join()
            self.assertGreater(counted, 10)
            self.assertGreater(refused, 0)

    def test_bad_words_are_told(self):
        with self.assertRaisesRegex(medley.Error, "stesp"):
            self.begin("bad", stesp=3)
        with self.assertRaisesRegex(medley.Error, "none.json"):
            medley.Session(self.scratch / "none.json", self.scratch / "bad", progress=False)
        self.assertFalse((self.scratch / "bad").exists())
        with self.begin("numbers") as run:
            for wrong in (0, -1):
                self.assertRaises(ValueError, run.train, wrong)
            for wrong in ("3", 2.5, True):
                self.assertRaises(TypeError, run.train, wrong)
            self.assertRaises(TypeError, run.edit, 3)

    def test_zz_begin_train_and_close_hold_no_gil(self):
        self.assertLessEqual({"begin", "resume", "train", "edit", "score", "close"}, set(_medley.gil_watched()))


class InAProgram(harness.Folder):
    """With tasks of Python's own, and what a program does beside."""

    def begin(self, name="run", **more):
        plugins = [harness.TASKS, harness.NETS]
        return medley.Session(self.config(["line", "chain"], steps=12), self.path / name, plugins=plugins, progress=False, **more)

    def test_tasks_in_python_are_trained_edited_and_scored(self):
        with self.begin() as run:
            self.assertEqual([record["step"] for record in run.steps(4)], [1, 2, 3, 4])
            run.edit({"weights": {"line": 1, "chain": 0}})
            run.train(6)
            self.assertEqual(run.evaluate(), run.metrics()[9]["eval"])
            run.edit({"weights": {"line": 1, "chain": 1}})
            run.train()
            drawn = [record["draws"][0]["task"] for record in run.metrics()]
            self.assertEqual(set(run.evaluate(4)), {"line", "chain"})
        self.assertEqual(drawn[4:10], ["line"] * 6)
        self.assertIn("chain", drawn[:4])
        self.assertIn("chain", drawn[10:])

    def test_checkpointing_of_torch_works_beside_it(self):
        layer, calls = torch.nn.Linear(8, 8), []

        def forward(hidden):
            calls.append(1)
            return layer(hidden)

        with self.begin() as run:
            for n in (2, 4):
                run.train(1)
                checkpoint.checkpoint(forward, torch.rand(4, 8, requires_grad=True), use_reentrant=False).sum().backward()
                self.assertEqual(len(calls), n, "its function runs again in the backward")


class Exits(unittest.TestCase):
    def test_a_program_that_ends_with_one_open_ends_well(self):
        times = int(os.environ.get("MEDLEY_TEST_EXITS", "3"))
        with tempfile.TemporaryDirectory() as folder:
            weights = pathlib.Path(folder) / "weights.json"
            weights.write_text(json.dumps(WEIGHTS))
            program = textwrap.dedent(f"""
                import sys, medley
                run = medley.Session({str(CONFIG)!r}, sys.argv[1], progress=False, weights={str(weights)!r}, **{SMALL!r}, data__threads=2)
                steps = run.steps()
                next(steps)
                keeps = [run, steps, lambda: run]
                keeps.append(keeps)  # which only a collection ends
                """)
            for i in range(times):
                done = subprocess.run([sys.executable, "-c", program, os.path.join(folder, str(i))], capture_output=True, text=True, timeout=120)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_forked_process_is_told_and_ends_well(self):
        with tempfile.TemporaryDirectory() as folder:
            weights = pathlib.Path(folder) / "weights.json"
            weights.write_text(json.dumps(WEIGHTS))
            program = textwrap.dedent(f"""
                import os, sys, medley
                run = medley.Session({str(CONFIG)!r}, sys.argv[1], progress=False, weights={str(weights)!r}, **{SMALL!r}, data__threads=2)
                run.train(1)
                child = os.fork()
                if child == 0:
                    try:
                        run.train(1)
                    except medley.Error as error:
                        print(error, flush=True)
                    sys.exit(7)
                assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
                assert run.train(1)["step"] == 2
                """)
            done = subprocess.run([sys.executable, "-c", program, os.path.join(folder, "run")], capture_output=True, text=True, timeout=120)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("this session is that of the process which was forked", done.stdout)


if __name__ == "__main__":
    unittest.main()
