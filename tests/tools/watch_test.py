"""medley watch in a terminal of its own: that it is left as it was, however the command ends, and what it shows."""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

MEDLEY = sys.argv.pop(1)
ENTER, LEAVE = b"\x1b[?1049h\x1b[?25l", b"\x1b[?25h\x1b[?1049l"
SECONDS = 60  # until something has hung


def put(path, text):
    """At once: whoever reads it meanwhile finds a whole file."""
    new = path.with_name("new")
    new.write_text(text)
    new.replace(path)


def write_run(run, steps=3, of=9, ended=None):
    run.mkdir(parents=True, exist_ok=True)
    put(run / "config.resolved.json", json.dumps({"model": "/m.json", "weights": "/w.json", "seed": 1, "steps": of, "tasks": {}}))
    start = {"time": "2026-03-01T12:00:00Z", "step": 0} | ({"ended": ended} if ended else {})
    put(run / "run.json", json.dumps({"starts": [start], "seed": 1}))
    term = {"zoom": {"text": {"mean": 1.0, "weighted": 1.0}}}
    lines = [{"step": step, "terms": term, "draws": [{"task": "zoom", "begin": 0, "rows": 8}]} for step in range(1, steps + 1)]
    put(run / "metrics.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    put(run / "timing.jsonl", "".join(json.dumps({"step": line["step"], "seconds": 1.0}) + "\n" for line in lines))


@contextlib.contextmanager
def held(run):
    """As a process does that trains it."""
    run.mkdir(parents=True, exist_ok=True)
    with open(run / "run.lock", "w", encoding="utf-8") as lock:
        lock.write(json.dumps({"pid": os.getpid(), "host": "here", "started": "2026-03-01T12:00:00Z"}))
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
        lock.truncate(0)


def end(run):
    write_run(run, 9, ended={"step": 9, "how": "ended", "why": "all its steps are done"})


def be_a_shell(command):
    """Starts it as a job in the foreground, and takes it back there where it stops. In a session of its own."""
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        for one in (signal.SIGTTOU, signal.SIGINT, signal.SIGHUP):
            signal.signal(one, signal.SIG_DFL)
        os.execv(command[0], command)
    with contextlib.suppress(OSError):
        os.setpgid(job, job)
    os.write(1, f"[{job}]".encode())
    while True:
        _, status = os.waitpid(job, os.WUNTRACED)
        os.tcsetpgrp(0, os.getpgrp())
        if not os.WIFSTOPPED(status):
            break
        os.write(1, b"[stopped]")
        time.sleep(0.3)
        os.tcsetpgrp(0, job)
        os.killpg(job, signal.SIGCONT)
    os.write(1, f"[code {os.waitstatus_to_exitcode(status)}]".encode())
    time.sleep(SECONDS)  # the test looks at the terminal


class Terminal:
    """The command in one of 24 lines and 80 columns."""

    def __init__(self, *arguments, kind="xterm"):
        self.shell, self.file = pty.fork()
        if self.shell == 0:
            os.environ.pop("COLUMNS", None)
            os.environ["TERM"] = kind
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
                be_a_shell([MEDLEY, "watch", *map(str, arguments)])
            finally:
                os._exit(1)
        self.before, self.seen = termios.tcgetattr(self.file), b""
        self.job = int(re.search(rb"\[(\d+)\]", self.until(rb"\[\d+\]"))[1])

    def until(self, pattern, at=0):
        """What was printed, once that is there behind `at`."""
        deadline = time.monotonic() + SECONDS
        while not re.search(pattern, self.seen[at:]):
            if time.monotonic() > deadline:
                raise AssertionError(f"no {pattern} in {self.seen}")
            if select.select([self.file], [], [], 0.2)[0]:
                self.seen += os.read(self.file, 65536)
        return self.seen

    def resize(self, rows, columns):
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))

    def close(self):
        os.kill(self.shell, signal.SIGKILL)
        os.waitpid(self.shell, 0)
        os.close(self.file)


def frames(seen):
    """The lines of each time that the screen was drawn."""
    return [frame.split(b"\x1b[J")[0].replace(b"\x1b[K", b"").replace(b"\r", b"").split(b"\n") for frame in seen.split(b"\x1b[H")[1:]]


class Watch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.run_ = self.folder / "run"
        os.environ["XDG_CACHE_HOME"] = str(self.folder / "cache")

    def terminal(self, *arguments, **settings):
        terminal = Terminal(*arguments, **settings)
        self.addCleanup(terminal.close)
        return terminal

    def assertAsItWas(self, terminal, code):
        seen = terminal.until(rb"\[code (-?\d+)\]")
        self.assertEqual(int(re.search(rb"\[code (-?\d+)\]", seen)[1]), code, seen)
        self.assertEqual(termios.tcgetattr(terminal.file), terminal.before)
        self.assertGreater(seen.count(ENTER), 0, seen)
        self.assertEqual(seen.count(ENTER), seen.count(LEAVE), seen)
        behind = seen.rpartition(LEAVE)[2]
        self.assertNotIn(b"\x1b", behind)
        return behind.decode()

    def test_it_ends_with_the_run_and_its_last_report_stays(self):
        write_run(self.run_)
        with held(self.run_):
            terminal = self.terminal(self.run_)
            terminal.until(rb"run has done 3 of 9 steps")
            self.assertIn(b"training on here since", terminal.seen)
            write_run(self.run_, 5)
            terminal.until(rb"run has done 5 of 9 steps")
            end(self.run_)
        behind = self.assertAsItWas(terminal, 0)
        self.assertIn("run is done after 9 steps", behind)

    def test_each_signal_that_ends_it_leaves_the_terminal_as_it_was(self):
        write_run(self.run_)
        with held(self.run_):
            for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, "key"):
                terminal = self.terminal(self.run_)
                terminal.until(rb"run has done 3 of 9 steps[^\[]*\x1b\[K")
                if one == "key":
                    os.write(terminal.file, b"\x03")
                else:
                    os.kill(terminal.job, one)
                with self.subTest(one):
                    self.assertAsItWas(terminal, -signal.SIGQUIT if one == signal.SIGQUIT else 130)

    def test_a_key_that_stops_it_gives_the_terminal_back_until_it_goes_on(self):
        write_run(self.run_)
        with held(self.run_):
            terminal = self.terminal(self.run_)
            terminal.until(rb"run has done 3 of 9 steps")
            os.write(terminal.file, b"\x1a")
            stopped = terminal.until(rb"\[stopped\]").index(b"[stopped]")
            self.assertEqual(terminal.seen[:stopped].count(LEAVE), 1, terminal.seen)
            terminal.until(re.escape(ENTER) + rb"(?s:.*)run has done 3 of 9 steps", stopped)
            os.kill(terminal.job, signal.SIGTERM)
            self.assertAsItWas(terminal, 130)

    def test_an_error_leaves_the_terminal_as_it_was(self):
        write_run(self.run_)
        with held(self.run_):
            terminal = self.terminal(self.run_)
            terminal.until(rb"run has done 3 of 9 steps")
            (self.run_ / "config.resolved.json").write_text("{")
            terminal.until(rb"cannot be read just now")
        self.assertIn("medley: ", self.assertAsItWas(terminal, 2))

    def test_a_smaller_window_cuts_its_lines(self):
        write_run(self.run_)
        with held(self.run_):
            terminal = self.terminal(self.run_)
            terminal.until(rb"run has done 3 of 9 steps")
            at = len(terminal.seen)
            terminal.resize(4, 30)
            terminal.until(rb"more lines(?s:.*)\x1b\[J", at)
            os.kill(terminal.job, signal.SIGTERM)
            self.assertAsItWas(terminal, 130)
            last = frames(terminal.seen[at:])[-1]
            self.assertEqual(len(last), 4, last)
            self.assertLessEqual(max(len(line) for line in last), 30, last)

    def test_of_a_run_that_has_no_config_yet_it_waits_and_of_others_it_shows_a_line_each(self):
        with held(self.run_):
            terminal = self.terminal(self.run_)
            terminal.until(rb"run has no config yet: training on here")
            write_run(self.run_)
            terminal.until(rb"run has done 3 of 9 steps")
            end(self.folder / "other")
            several = self.terminal(self.folder)
            several.until(rb"other .*ended")
            several.until(rb"training")
            os.kill(several.job, signal.SIGTERM)
            self.assertAsItWas(several, 130)
            end(self.run_)
        self.assertAsItWas(terminal, 0)

    def test_a_run_that_is_over_or_a_terminal_that_knows_no_codes_has_plain_text(self):
        end(self.run_)
        over = self.terminal(self.run_).until(rb"\[code 0\]")
        self.assertNotIn(b"\x1b", over)
        self.assertIn(b"run is done after 9 steps", over)
        write_run(self.run_)
        with held(self.run_):
            dumb = self.terminal(self.run_, kind="dumb")
            dumb.until(rb"run has done 3 of 9 steps")
            self.assertNotIn(b"\x1b", dumb.seen)

    def piped(self, *arguments):
        command = subprocess.Popen([MEDLEY, "watch", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(command.wait)
        self.addCleanup(command.kill)
        return command

    def test_a_pipe_gets_a_line_when_something_is_new_and_the_report_at_the_end(self):
        run = self.folder / "a\x1b[2Jb"
        write_run(run)
        with held(run):
            command = self.piped(run)
            self.assertEqual(command.stdout.readline(), "a\\x1b[2Jb has done 3 of 9 steps in 0:03; about 0:06 left\n")
            end(run)
        rest, _ = command.communicate(timeout=SECONDS)
        self.assertEqual(command.returncode, 0, rest)
        self.assertIn("is done after 9 steps", rest)
        self.assertNotIn("\x1b", rest)

    def test_json_is_an_object_a_line(self):
        write_run(self.run_)
        with held(self.run_):
            command = self.piped(self.run_, "--json")
            self.assertEqual(json.loads(command.stdout.readline())["progress"]["step"], 3)
            end(self.run_)
        rest, _ = command.communicate(timeout=SECONDS)
        told = [json.loads(line)["progress"]["is_over"] for line in rest.splitlines()]  # also of a look within end()
        self.assertTrue(told and told[-1], rest)
        self.assertEqual(told, sorted(told))

    def test_what_is_no_run_is_refused_and_nothing_is_written_into_one(self):
        for place in (self.folder / "nowhere", self.folder):
            refused = subprocess.run([MEDLEY, "watch", place], capture_output=True, text=True, check=False)
            self.assertEqual(refused.returncode, 2, refused.stderr)
        end(self.run_)
        names = sorted(os.listdir(self.run_))
        self.assertEqual(subprocess.run([MEDLEY, "watch", self.run_], capture_output=True, check=False).returncode, 0)
        self.assertEqual(sorted(os.listdir(self.run_)), names)


def all_at_once():
    """Each in a process, as they mostly wait."""
    names = unittest.TestLoader().getTestCaseNames(Watch)
    started = [subprocess.Popen([sys.executable, __file__, MEDLEY, f"Watch.{name}"]) for name in names]
    return max(one.wait() for one in started)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.exit(all_at_once())
    unittest.main()
