"""Signals mean to a run in Python what they mean to any: stopped is saved, and goes on."""
import os
import pathlib
import re
import signal
import subprocess
import time
import unittest

from harness import MEDLEY, NETS, Folder


class Signals(Folder):
    def start(self, *words):
        self.plugin()
        self.config(steps=100000, eval={"every": 0})
        running = subprocess.Popen([MEDLEY, "train", "run.json", "--out", "run", "--plugin-path", "plugins", "--plugin-path", NETS, *words],
                                   cwd=self.path, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(running.kill)
        deadline = time.monotonic() + 240
        while time.monotonic() < deadline and running.poll() is None:
            file = self.path / "run/metrics.jsonl"
            if file.exists() and file.stat().st_size > 2000:
                return running
            time.sleep(0.05)
        self.fail(running.communicate()[0])

    def assert_saved(self, running, code):
        said = running.communicate(timeout=120)[0]
        self.assertEqual(running.returncode, code, said)
        self.assertTrue(any(name.startswith("step-") for name in os.listdir(self.path / "run")), said)
        self.assertNotIn("KeyboardInterrupt", said)
        return said

    def test_interrupted_is_saved_and_goes_on(self):
        for one in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR2):
            running = self.start()
            pid = running.pid
            self.assertIn("python", os.readlink(f"/proc/{pid}/exe"))  # the same pid: it became Python's
            running.send_signal(one)
            said = self.assert_saved(running, 130)
            self.assertIn("medley resume run", said)
            for name in os.listdir(self.path / "run"):
                if name.startswith("step-"):
                    steps = int(name.split("-")[1])
            self.medley("resume", "run", "--steps", str(steps + 2), plugins=[])
            subprocess.run(["rm", "-rf", self.path / "run"], check=True)

    def test_one_that_comes_while_python_is_loaded_is_heeded(self):
        self.plugin()
        self.config(steps=100000, eval={"every": 0})
        for delay in (0, 0.1, 0.35, 0.75):  # behind its handler: in medley, on the way to Python, in Python
            running = subprocess.Popen([MEDLEY, "train", "run.json", "--out", f"run{delay}", "--plugin-path", "plugins", "--plugin-path", NETS],
                                       cwd=self.path, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.addCleanup(running.kill)
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and not self.has_handler(running.pid, signal.SIGTERM):
                time.sleep(0.001)
            time.sleep(delay)
            running.send_signal(signal.SIGTERM)
            said = running.communicate(timeout=60)[0]
            self.assertEqual(running.returncode, 130, f"after {delay} s: {said}")

    def has_handler(self, pid, one):
        caught = re.search(r"SigCgt:\s*(\w+)", pathlib.Path(f"/proc/{pid}/status").read_text())
        return caught and int(caught[1], 16) >> (one - 1) & 1

    def test_a_checkpoint_that_is_asked_for(self):
        running = self.start()
        running.send_signal(signal.SIGUSR1)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not any(name.startswith("step-") for name in os.listdir(self.path / "run")):
            time.sleep(0.05)
        self.assertIsNone(running.poll())
        running.send_signal(signal.SIGINT)
        self.assert_saved(running, 130)


if __name__ == "__main__":
    unittest.main()
