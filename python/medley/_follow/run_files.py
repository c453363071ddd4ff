"""A run's directory, which is only read."""

import calendar
import fcntl
import os
import re
import time

from . import logs, values


def _seconds(stamp):
    """Of "2026-03-01T12:34:56Z"; None of another text."""
    try:
        return calendar.timegm(time.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ"))
    except (TypeError, ValueError):
        return None


class Start:
    """When a run began, or went on from a step; and how that came to an end."""

    def __init__(self, record):
        step = record.get("step")
        self.step = step if type(step) is int else 0
        self.seconds = _seconds(record.get("time"))
        self.config = record.get("config") if isinstance(record.get("config"), str) else ""
        ended = record.get("ended")
        self.ended = ended if isinstance(ended, dict) else None
        self.ended_seconds = _seconds(ended.get("time")) if self.ended else None

    def end_event(self):
        if self.ended is None or type(self.ended.get("step")) is not int:
            return None
        how, why = self.ended.get("how"), self.ended.get("why")
        return values.Event(self.ended["step"], how if isinstance(how, str) else "ended", why if isinstance(why, str) else "")


class RunFiles:
    def __init__(self, path):
        self.path = path
        self.metrics = os.path.join(path, "metrics.jsonl")
        self.timing = os.path.join(path, "timing.jsonl")
        self._weights = (None, [])

    def starts(self):
        record = logs.read_object(os.path.join(self.path, "run.json"))
        listed = record.get("starts")
        return [Start(each) for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []

    def is_held(self):
        """Whether a process has the run. Asked without a trace, and only of a lock with somebody's words in it: one that is empty was left in good
        order, and a resume that takes it at this moment is not disturbed."""
        file = logs.open_regular(os.path.join(self.path, "run.lock"))
        if file is None:
            return False
        with file:
            if not file.read(1):
                return False
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return True
            return False

    def _config_files(self):
        names = [name for name in os.listdir(self.path) if re.fullmatch(r"config\.resolved(\.\d+)?\.json", name)]
        return sorted(names, key=lambda name: int((re.findall(r"\d+", name) or ["0"])[0]))

    def config(self, name=""):
        """By flat keys; the newest unless it is named."""
        files = self._config_files()
        if name and name not in files:
            return {}
        return values.flattened(logs.read_object(os.path.join(self.path, name or files[-1]))) if files else {}

    def began(self, starts):
        """When step 1 began, in seconds; of a run whose record does not tell, when it was written down."""
        if starts and starts[0].seconds is not None:
            return starts[0].seconds
        files = self._config_files()
        return int(os.stat(os.path.join(self.path, files[0])).st_mtime) if files else 0

    def weight_entries(self):
        """Of weights.jsonl, which is replaced as a whole."""
        path = os.path.join(self.path, "weights.jsonl")
        try:
            now = os.stat(path)
        except FileNotFoundError:
            return []
        seen = (now.st_ino, now.st_size, now.st_mtime_ns)
        if self._weights[0] != seen:
            found = [logs.parsed(line) for line, _ in logs.whole_lines(path)]
            self._weights = (seen, [entry for entry in found if entry is not None])
        return self._weights[1]

    def start_events(self, starts):
        """What a resume changed, and how each start ended; not of what a later one went back behind."""
        for i, start in enumerate(starts):
            kept = min((later.step for later in starts[i + 1 :]), default=1 << 53)
            if i > 0 and start.step <= kept:
                yield values.Event(start.step, "resume", self._changes(starts[i - 1], start))
            end = start.end_event()
            if end is not None and end.step <= kept:
                yield end

    def _changes(self, before, start):
        old, new = self.config(before.config), self.config(start.config)
        keys = sorted(old.keys() | new.keys()) if old and new else []
        # A resume reads the run's own copy of the weights.
        return ", ".join(f"{key} {old.get(key)} -> {new.get(key)}" for key in keys if old.get(key) != new.get(key) and key != "weights")

    def events(self, starts):
        return [*values.events_of_weights(self.weight_entries()), *self.start_events(starts)]

    def scored(self):
        """(eval.json, its time in seconds) of medley eval; ({}, 0) where it is not there."""
        path = os.path.join(self.path, "eval.json")
        scored = logs.read_object(path)
        return (scored, os.stat(path).st_mtime) if type(scored.get("step")) is int else ({}, 0)

    def sheets(self):
        """(task, file) of the pictures of medley eval."""
        for name in sorted(os.listdir(self.path)):
            if name.startswith("sheet-") and name.endswith(".png"):
                yield name[6:-4], os.path.join(self.path, name)
