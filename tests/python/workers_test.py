"""Rows in processes of their own (data.processes): the same bytes, and what happens where one of them ends."""
import os
import pathlib
import signal
import subprocess
import time

from harness import MEDLEY, NETS, TASKS, TWINS, Folder, main

DRAWN = "drawn = rows.uniform(26).astype(np.float32)"


def processes_of(parent):
    """Those that make rows for it."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(word.endswith(b"/_worker.py") for word in words) and str(parent).encode() in words:
            found.append(int(entry.name))
    return found


class Workers(Folder):
    def train(self, name, plugins, *words, **more):
        said = self.medley("train", "run.json", "--out", name, *words, plugins=[NETS, plugins], **more)
        return said if more else self.metrics(name)

    def test_a_twin_is_the_same_bytes(self):
        self.config(["line", "chain"], steps=40, tasks={"line": {"rows": 32}, "chain": {"rows": 8}})
        of_cpp = self.train("cc", TWINS)
        for threads in (0, 2):
            self.assertEqual(self.train(f"py{threads}", TASKS, "data.processes=true", f"data.threads={threads}"), of_cpp)

    def test_a_driver_with_a_tokenizer_is_the_same_bytes(self):
        made = subprocess.run([MEDLEY, "new", "mine", "--kind", "reply", "--lang", "python"], cwd=self.path, env=self.environment, stdout=subprocess.DEVNULL)
        self.assertEqual(made.returncode, 0)
        runs = []
        for on in ("false", "true"):
            self.medley("train", "mine/run.json", "steps=4", f"data.processes={on}", "--out", on, plugins=[self.path / "mine/mine.py"])
            runs.append(self.metrics(on))
        self.assertEqual(*runs)
        self.assertNotIn("data.processes", (self.path / "true/log.txt").read_text().split("rows")[0])

    def test_what_cannot_be_sent_is_made_here_and_said(self):
        self.plugin(replace=[("def sample", "def __init__(self, context):\n        self.context = context\n\n    def sample")])
        self.config(steps=2)
        said = self.medley("train", "run.json", "data.processes=true", "--out", "run")
        self.assertIn("data.processes: its rows are made in the run's process, as Lines cannot be sent to another: ", said)

    def said(self, *replace):
        self.plugin(replace=replace)
        self.config(steps=2)
        return self.medley("train", "run.json", "data.processes=true", "--out", "run", check=1)

    def test_an_exception_has_its_place(self):
        said = self.said((DRAWN, "raise ValueError('no such file')"))
        self.assertIn("plugin 'lines' (task line, while sampling", said)
        self.assertIn("plugins/lines.py:12: ValueError: no such file\n  in sample, plugins/lines.py:12: raise", said)

    def test_what_its_rows_depend_on_is_found(self):
        said = self.said((DRAWN, "drawn = np.random.rand(len(rows), 26).astype(np.float32)"))
        self.assertIn("depends on", said)

    def test_what_differs_between_processes_is_found(self):
        said = self.said((DRAWN, DRAWN + "\n        drawn[:, 2] = hash('a text') % 1000"))
        self.assertIn("row 0 is another in a process of its own (data.processes) than in the run's: it depends on what differs between", said)

    def test_one_that_ends_is_named(self):
        for ends, how in (("os._exit(3)", "ended with exit code 3"), ("os.kill(os.getpid(), 9)", "was ended by SIGKILL (out of memory?)")):
            said = self.said((DRAWN, "import os; " + ends))
            self.assertRegex(said, r"plugin 'lines' \(task line, while sampling.*the process that made its rows 0\.\.\d+ \(data\.processes\) ")
            self.assertIn(how, said)

    def start(self, sample=DRAWN):
        self.plugin(replace=[(DRAWN, sample)])
        self.config(steps=100000, eval={"every": 0})
        running = subprocess.Popen(
            [MEDLEY, "train", "run.json", "data.processes=true", "data.threads=2", "--out", "run", "--plugin-path", "plugins", "--plugin-path", NETS],
            cwd=self.path, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)
        return running

    def wait_for(self, happened):
        deadline = time.monotonic() + 120
        while not happened():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)

    def has_trained(self):
        file = self.path / "run/metrics.jsonl"
        return file.exists() and file.stat().st_size > 2000

    def test_no_orphan_after_a_kill(self):
        running = self.start()
        self.wait_for(self.has_trained)
        self.assertTrue(processes_of(running.pid))
        running.kill()
        self.wait_for(lambda: not processes_of(running.pid))

    def test_no_orphan_after_a_kill_while_rows_are_made(self):
        running = self.start("import time\n        while rows.begin >= 0: time.sleep(0.01)\n        " + DRAWN)
        self.wait_for(lambda: processes_of(running.pid))
        time.sleep(1)
        running.kill()
        self.wait_for(lambda: not processes_of(running.pid))

    def test_ctrl_c_of_a_terminal_saves(self):
        running = self.start()
        self.wait_for(self.has_trained)
        os.killpg(running.pid, signal.SIGINT)
        self.assertEqual(running.wait(60), 130)
        self.assertTrue(any(name.startswith("step-") for name in os.listdir(self.path / "run")))
        self.wait_for(lambda: not processes_of(running.pid))


if __name__ == "__main__":
    main(4)
