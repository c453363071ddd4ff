"""What was delivered of a run to a place: a user's file, never the run's."""

import fcntl
import hashlib
import json
import os

from . import values
from .stream import beginning
from .words import BadInput, printable

_DIGEST = 8  # bytes of a line's


def _digest(data, size=_DIGEST):
    return hashlib.blake2b(data, digest_size=size).digest()


def directory():
    """By the XDG Base Directory Specification."""
    home = os.environ.get("XDG_STATE_HOME") or ""
    if not os.path.isabs(home):
        if not os.environ.get("HOME"):
            raise BadInput("medley follow notes what it sent, and has no place for it: set HOME or XDG_STATE_HOME")
        home = os.path.join(os.environ["HOME"], ".local", "state")
    return os.path.join(home, "medley", "follow")


class State:
    """One process at a time. Its files: KEY.json, replaced with each batch; KEY.lines, a digest of every line of metrics.jsonl that was read;
    KEY.events.jsonl, the events so far."""

    def __init__(self, what, warn, folder=None):
        """`what` names the run and where it goes: texts."""
        self.key = _digest("\0".join(what).encode("utf-8", "surrogateescape")).hex()
        folder = folder or directory()
        os.makedirs(folder, exist_ok=True)
        self._base = os.path.join(folder, self.key)
        self._lock = open(self._base + ".lock", "ab")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BadInput(f"{printable(what[0])} is followed there already, by another process; one is enough") from None
        self._lines = self._events = None
        self._read(what, warn)

    def _read(self, what, warn):
        try:
            with open(self._base + ".json", "rb") as file:
                noted = json.load(file)
            place = {**beginning(), **noted["place"]}
            if place["lines"] * _DIGEST > os.stat(self._base + ".lines").st_size:
                raise ValueError("it has fewer lines than it says")
            self.number, self.id, self.first_id = noted["number"], noted["id"], noted["first_id"]
            self.sent, self.events_size, self.place = dict(noted["sent"]), noted["events_size"], place
            self.is_fresh = False
        except FileNotFoundError:
            self._begin(1, "")
        except (ValueError, KeyError, TypeError, OSError) as error:
            warn(f"{printable(self._base)}.json is damaged ({printable(error)}): asking where the run goes what is there already")
            self._begin(1, "")
        self._what = list(what)

    def _begin(self, number, first_id):
        self.number, self.id, self.first_id = number, "", first_id
        self.place, self.sent, self.events_size, self.is_fresh = beginning(), {}, 0, True
        self._close()

    def _close(self):
        for file in (self._lines, self._events):
            if file is not None:
                file.close()
        self._lines = self._events = None

    def close(self):
        """Another process may follow."""
        self._close()
        self._lock.close()

    def begin_segment(self):
        """Another one: nothing of it was sent."""
        self._begin(self.number + 1, self.first_id or self.id)

    def read_again(self):
        """All lines are read from the first on, whatever of them is sent."""
        self.place, self.events_size = beginning(), 0
        self._close()

    def take_line(self, line):
        if self._lines is None:
            self._lines = self._opened(".lines", self.place["lines"] * _DIGEST)
        self._lines.write(_digest(line))

    def _opened(self, suffix, size):
        """To add to its first bytes: what lies behind was never noted."""
        file = open(self._base + suffix, "a+b")
        file.truncate(size)
        return file

    def is_known(self, event):
        return self.event_key(event) in self.sent

    @staticmethod
    def event_key(event):
        return _digest(f"{event.step}\0{event.kind}\0{event.words}".encode("utf-8", "surrogateescape")).hex()

    def add_events(self, events):
        """The file with all of them."""
        if self._events is None:
            self._events = self._opened(".events.jsonl", self.events_size)
        for event in events:
            text = json.dumps({"step": event.step, "kind": event.kind, "words": event.words}) + "\n"
            self._events.write(text.encode())
        self._events.flush()
        self._pending = self._events.tell()
        return self._base + ".events.jsonl"

    def events_were_sent(self, events, step):
        """With the row of a step."""
        for event in events:
            if event.kind not in values.OF_STEPS:
                self.sent[self.event_key(event)] = step
        if events:
            self.events_size = self._pending

    def note(self):
        """As one act; what was sent since the last one is sent again after a kill."""
        if self._lines is not None:
            self._lines.flush()
        noted = {"what": self._what, "number": self.number, "id": self.id, "first_id": self.first_id, "place": self.place,
                 "events_size": self.events_size, "sent": self.sent}
        with open(self._base + ".part", "w", encoding="utf-8", errors="surrogateescape") as file:
            json.dump(noted, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(self._base + ".part", self._base + ".json")
        self.is_fresh = False

    def compare(self, lines):
        """How many of these lines are those that were read, and whether one is another: (same, differs)."""
        same, count = 0, self.place["lines"]
        if count == 0:
            return 0, False
        with open(self._base + ".lines", "rb") as digests:
            for line, _ in lines:
                if same == count:
                    break
                if digests.read(_DIGEST) != _digest(line):
                    return same, True
                same += 1
        return same, False
