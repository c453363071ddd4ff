"""Trackio: a run of a project, known by its name. Metrics, the config, events as alerts, the sheets as images."""

import contextlib
import os
import sys

from .target import Target, plain
from .words import BadInput, TargetError, Unreadable, printable

_LEVELS = {"out of memory": "ERROR", "failed": "ERROR", "memory": "WARN", "dropped task": "WARN", "refused edit": "WARN"}


class TrackioTarget(Target):
    name = "trackio"
    package = "trackio"

    def __init__(self, project):
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        self.project = project or "medley"
        import trackio

        self._trackio = trackio
        self._run = self._segment = None
        self._is_new = True
        self._alerts = set()  # that it has
        self._remote = os.environ.get("TRACKIO_SPACE_ID") or os.environ.get("TRACKIO_SERVER_URL") or ""

    def place(self):
        return self._remote.partition("?")[0] or os.path.abspath(self._folder())  # behind it stands a server's token

    def _folder(self):
        return os.environ.get("TRACKIO_DIR") or os.path.expanduser("~/.cache/huggingface/trackio")

    def folders(self):
        return [] if self._remote else [self._folder()]

    def _call(self, act):
        try:
            with contextlib.redirect_stdout(sys.stderr):  # its words are no result of the command
                return act()
        except (BadInput, TargetError):
            raise
        except Exception as error:
            raise TargetError(f"trackio: {error}") from error

    def open(self, segment):
        return self._call(lambda: self._open(segment))

    def _namesake(self, segment):
        """What this machine knows of the run with this name."""
        if self._remote:
            return None
        try:
            return next((run for run in self._trackio.Api().runs(self.project) if run.name == segment.name), None)
        except ValueError:  # it has no such project
            return None

    def _open(self, segment):
        there = self._namesake(segment)
        is_ours = segment.is_known or (there is not None and (there.config or {}).get("medley.segment") == segment.key)
        if there is not None and not is_ours:
            raise BadInput(self._taken(segment))
        self._segment = segment
        self._init()
        last = getattr(self._run, "_next_step", None)  # of a run that it has, asked where it lies; it has no public name
        if last is not None and last > 0 and not is_ours:
            raise BadInput(self._taken(segment))
        self._is_new = not last
        if there is not None:
            self._alerts = {(alert["step"], alert["title"], alert["text"]) for alert in there.alerts()}
        return segment.name, None if last is None else last - 1

    def _taken(self, segment):
        return f"trackio knows runs by their names, and project {self.project} has another {printable(segment.name)}; --name or --project gives another"

    def _init(self):
        segment = self._segment
        config = {name: plain(value) for name, value in segment.config.items() if not name.startswith("_")}
        config.update({"medley.segment": segment.key, "medley.run": segment.run})
        if segment.number > 1:
            config["medley.continues"] = segment.first_name
        self._run = self._trackio.init(
            project=self.project, name=segment.name, group=segment.first_name, config=config, resume="allow", embed=False, auto_log_gpu=False,
            auto_log_cpu=False,
        )

    def _flush(self):
        """It writes beside the program; only its end is sure to be behind that."""
        self._trackio.finish()
        self._init()
        self._is_new = False

    def send(self, rows, events):
        self._call(lambda: self._send(rows))

    def _send(self, rows):
        told = [event for row in rows for event in row.events]
        if told and self._is_new:  # a run is one only once it has a step
            self._run.log(rows[0].values, step=rows[0].step)
            self._flush()
            rows = rows[1:]
        for event in told:
            self._tell(event)
        if told:
            self._flush()  # before their steps: whatever is lost then, these are not
        for row in rows:
            if row.values:
                self._run.log(row.values, step=row.step)
                self._is_new = False

    def _tell(self, event):
        words = (event.step, event.kind, event.words or None)
        if words in self._alerts:
            return
        self._alerts.add(words)
        level = getattr(self._trackio.AlertLevel, _LEVELS.get(event.kind, "INFO"))
        self._run.alert(title=event.kind, text=event.words or None, level=level, step=event.step)

    def send_scores(self, row):
        self._call(lambda: self._log(row.values, row.step))

    def show(self, task, file, step):
        try:
            picture = self._trackio.Image(file)
        except Exception as error:
            raise Unreadable(str(error)) from error
        self._call(lambda: self._log({f"sheet/{task}": picture}, step))

    def _log(self, found, step):
        self._run.log(found, step=step)
        self._flush()

    def close(self, how, seconds):
        self._call(self._trackio.finish)
