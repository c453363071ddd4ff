"""Logs of JSON lines, which may be written while they are read."""

import json
import os
import stat

from .words import BadInput, Failed, printable

MOST = 1 << 26  # bytes of a line; no step takes a thousandth of it


def open_regular(path, flags=0):
    """For reading, in bytes; None where nothing is there. No pipe is waited for."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    except FileNotFoundError:
        return None
    file = os.fdopen(number, "rb")
    if not stat.S_ISREG(os.fstat(number).st_mode):
        file.close()
        raise BadInput(f"{printable(path)} is no plain file")
    return file


def whole_lines(path, offset=0):
    """(line, where it ends) from a place on; the last line may still be written."""
    file = open_regular(path)
    if file is None:
        return
    with file:
        file.seek(offset)
        while line := file.readline(MOST):
            if not line.endswith(b"\n"):
                if len(line) == MOST:
                    raise Failed(f"{printable(path)} has a line of more than {MOST >> 20} MiB at byte {offset}: it is damaged")
                return
            offset += len(line)
            yield line[:-1], offset


def parsed(line):
    """An object that has a step; None where the line is none."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    step = found.get("step") if isinstance(found, dict) else None
    return found if type(step) is int and 0 <= step < 1 << 53 else None


def read_object(path):
    """A small file of JSON; {} where it is not there, or no object."""
    file = open_regular(path)
    if file is None:
        return {}
    with file:
        text = file.read(MOST)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


class Timing:
    """timing.jsonl beside metrics.jsonl, some of whose steps it may lack."""

    def __init__(self, path, offset):
        self._path = path
        self.offset = offset  # behind the last line that was handed out
        self._lines = self._ahead = None
        self._last = -1

    def _next(self):
        if self._lines is None:
            self._lines = whole_lines(self._path, self.offset)
        for line, end in self._lines:
            found = parsed(line)
            if found is not None:
                return found, end
        self._lines = None  # what is written now is seen when it is opened again
        return None

    def through(self, step):
        """The lines up to a step, one after the other."""
        while True:
            self._ahead = self._ahead or self._next()
            if self._ahead is None or self._ahead[0]["step"] > step:
                return
            line, self.offset = self._ahead
            self._last, self._ahead = line["step"], None
            yield line

    def has_reached(self, step):
        """After `through`: a line of this step or a later one is there, and none of before comes any more."""
        return self._last >= step or self._ahead is not None
