"""A training run as an object."""

import atexit
import html
import json
import os
import threading
import weakref

from medley import _arguments, _medley
from medley._metrics import Metrics
from medley._progress import shown_by

_open = weakref.WeakSet()


@atexit.register
def _close_all():
    """While the interpreter is whole: data threads may be in it."""
    for session in list(_open):
        session._native.close()


def _on_main_thread():
    return threading.current_thread() is threading.main_thread()


class Session:
    """A run that begins: what `medley train CONFIG --out DIRECTORY` makes, one step or many at a time.

    `overrides` are values that replace the config's: `steps=100`, `tasks__zoom__rows=8`. One session at a time in a process.
    `progress`: True shows what the command would, False only writes it to DIRECTORY/log.txt; or a callable (kind, text) with the
    kinds "said", "warning" and "status".

    A Ctrl-C within a call gives up the step that is under way, saves, and comes as KeyboardInterrupt; the session goes on. What a
    program has set in torch (seeds, threads, no_grad, autocast) is neither heeded nor changed.
    """

    def __init__(self, config, directory=None, *, plugins=(), profile=None, progress=True, **overrides):
        config = _arguments.path(config)
        directory = _medley.free_run_path(config) if directory is None else _arguments.path(directory)
        self._open(
            _medley.begin(
                config,
                directory,
                _arguments.overrides(overrides),
                _arguments.paths(plugins),
                "" if profile is None else _arguments.path(profile),
                shown_by(progress),
                _on_main_thread(),
            ),
            directory,
        )

    @classmethod
    def resume(cls, directory, *, plugins=(), allow_changed=(), from_step=None, progress=True, **overrides):
        """A run that goes on from its newest whole checkpoint, or from that of `from_step`."""
        session = cls.__new__(cls)
        directory = _arguments.path(directory)
        session._open(
            _medley.resume(
                directory,
                _arguments.overrides(overrides),
                _arguments.paths(plugins),
                _arguments.paths(allow_changed),
                from_step,
                shown_by(progress),
                _on_main_thread(),
            ),
            directory,
        )
        return session

    def _open(self, native, directory):
        self._native = native
        self._unsaved = False
        self.directory = os.path.abspath(directory)
        self.code = 0
        _open.add(self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        return f"<medley.Session {self.directory!r}, {'closed' if self.step < 0 else f'step {self.step}'}>"

    @property
    def step(self):
        """Steps done; -1 of a closed session."""
        return self._native.step()

    def _train(self, until, saves):
        self.code, line = self._native.train(until, saves, _on_main_thread())
        self._unsaved = not saves
        return json.loads(line) if line else None

    def train(self, n=None):
        """Trains `n` steps, or to the run's end; saved when it returns. The last step's record, as `steps` gives it.

        `code` is then the exit code that the command would have: 0, or 3 where a task was dropped.
        """
        return self._train(None if n is None else self.step + _counted(n), True)

    def steps(self, n=None):
        """Trains step by step and yields the record of each: its line of metrics.jsonl, with its line of timing.jsonl as "timing".

        Nothing is saved between but what the config's checkpoint.every asks for; the run is saved when the loop ends, however.
        """
        end = None if n is None else self.step + _counted(n)
        try:
            while end is None or self.step < end:
                before = self.step
                record = self._train(before + 1, False)
                if self.step == before:
                    break  # the run is over, or was stopped
                yield record
        finally:
            self.save()

    def save(self):
        """Writes a checkpoint of the step that was done last, where there is none."""
        if self._unsaved and self.step >= 0:
            self._train(self.step, True)

    def edit(self, weights):
        """Other weights from the next step on: a dict as a weights file has it, {"weights": {"zoom": 2}}, whose other keys stay; the
        text of one, or a path. An error, and nothing has changed, where that is refused."""
        with open(os.path.join(self.directory, "weights.json"), encoding="utf-8") as file:
            in_force = file.read()
        self._native.edit(_arguments.weights_file(weights, in_force), _on_main_thread())

    def evaluate(self, rows=None):
        """Scores the active tasks as the run is now, on held-out rows; {task: {"value": ..., "low": ..., "high": ...}} as metrics.jsonl has it. The run goes
        on as if nobody had asked."""
        return json.loads(self._native.score(0 if rows is None else _counted(rows), _on_main_thread()))

    def metrics(self):
        """All steps so far: a sequence of dicts, with `columns()` as numpy arrays."""
        return Metrics(os.path.join(self.directory, "metrics.jsonl"))

    def page(self):
        """The run as one page of HTML: what `medley report --html` writes."""
        return _medley.run_page(self.directory)

    def _repr_html_(self):
        page = html.escape(self.page(), quote=True)
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 40em; border: 0" sandbox="allow-scripts"></iframe>'

    def close(self):
        """Saves what is not saved, and ends the session; its run can then be resumed."""
        try:
            self.save()
        finally:
            self._native.close()
            _open.discard(self)


def _counted(n):
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(f"expected a number of steps or rows, found {n!r}")
    n = n.__index__()
    if n < 1:
        raise ValueError(f"expected a number of at least 1, found {n}")
    return n
