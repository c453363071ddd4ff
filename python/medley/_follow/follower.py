"""The loop: what is new in a run's files goes to a tracker, and is then noted."""

import hashlib
import os
import time

from . import logs, values
from .stream import Row, Stream
from .target import Segment
from .words import BadInput, TargetError, Unreadable, printable, say

BATCH = 500  # steps
PAUSE = 2.0  # seconds between two looks at a run that goes on
TAIL = 1 << 12  # bytes
TRIES = 3  # once it is over; before that a tracker that is away is waited for
LARGEST_SHEET = 1 << 26  # bytes


class Follower:
    def __init__(self, run, target, state, name, warn=say, pause=time.sleep):
        self.run, self.target, self.state, self.name = run, target, state, name
        self._warn, self._pause = warn, pause
        self.sent_rows = self.sent_events = self.sent_sheets = 0
        self.how = ""  # the run ended
        self._dropped_before = 0
        self._is_open = False

    def follow(self):
        """Until the run is over: how it ended."""
        self._open()
        while True:
            is_over, how = self._end()  # before it is read: what was written by then is there
            slow = time.monotonic()
            behind = self._behind()
            if behind == "other":
                self._begin_segment()
            if behind != "waits":
                self._send_what_is_new(is_over)
            if is_over:
                if behind == "waits":
                    self._warn("the run went back, and has nothing yet that was not sent before; when it goes on, the same command does")
                self._close(how)
                self.how = how
                return how
            self._pause(max(PAUSE, 10 * (time.monotonic() - slow) if behind == "waits" else 0))

    def leave(self):
        """Somebody wants an end: what was handed over is brought there, and the run stays open there."""
        if self._is_open:
            try:
                self.target.close("", None)
            except TargetError as error:
                self._warn(f"{self.target.name}: {printable(error)}")

    @property
    def dropped(self):
        return self._dropped_before + self._stream.dropped

    @property
    def segment_name(self):
        return self.name if self.state.number == 1 else f"{self.name}.{self.state.number}"

    def _end(self):
        """(whether it is over, how)."""
        if self.run.is_held():
            return False, ""
        starts = self.run.starts()
        ended = starts[-1].ended if starts else None
        if ended is None:
            return True, "stopped"  # without a word: its process is gone
        how = ended.get("how")
        return True, how if how in ("ended", "stopped", "failed") else "ended"

    def _open(self):
        state, starts = self.state, self.run.starts()
        segment = Segment(
            key=f"{state.key}-{state.number}", name=self.segment_name, id=state.id, number=state.number, first_name=self.name,
            first_id=state.first_id, config=self.run.config(), run=printable(self.run.path), began=self.run.began(starts), is_known=not state.is_fresh,
        )
        state.id, last = self._try(lambda: self.target.open(segment))
        self._is_open = True
        was_fresh = state.is_fresh
        self._skip = state.place["step"] if last is None else last
        if last is not None and last < state.place["step"]:  # it lost some of it
            state.read_again()
            state.sent = {key: step for key, step in state.sent.items() if step <= last}
        self._known_up_to = last if was_fresh and last is not None else -1
        self._stream = Stream(self.run, state.place, state.take_line, self._warn)
        self._starts, self._tail = -1, None
        self._note()

    def _behind(self):
        """Whether the log still begins with what was read of it: "same", "waits" (it is shorter, and the same so far) or "other"."""
        state = self.state
        starts = len(self.run.starts())
        if starts == self._starts and self._read_tail() == self._tail:
            return "same"
        same, differs = state.compare(logs.whole_lines(self.run.metrics))
        if differs:
            return "other"
        if same < state.place["lines"]:
            self._starts = -1
            return "waits"
        self._starts, self._tail = starts, self._read_tail()
        return "same"

    def _read_tail(self):
        """What stands before the place that was read to: all of it where that is little."""
        file, end = logs.open_regular(self.run.metrics), self.state.place["metrics"]
        if file is None:
            return b""
        with file:
            return os.pread(file.fileno(), min(end, TAIL), max(0, end - TAIL))

    def _begin_segment(self):
        was, state = self.segment_name, self.state
        self._try(lambda: self.target.close("stopped", None))
        self._dropped_before = self.dropped
        state.begin_segment()
        self._warn(f"the run went back, and its steps are others than {printable(was)} has: {printable(self.segment_name)} has all of them, from the first")
        self._open()

    def _send_what_is_new(self, is_over):
        due = sorted((event for event in self.run.events(self.run.starts()) if not self._is_known(event)), key=lambda event: event.step)
        batch = []
        for row in self._stream.rows(is_over):
            if row.step > self._skip:
                while due and due[0].step <= row.step:
                    row.events.append(due.pop(0))
                batch.append(row)
            if len(batch) >= BATCH:
                self._deliver(batch)
                batch = []
        now = max(self.state.place["step"], 0)
        late = [event for event in due if event.step <= now or is_over]  # they came after their step
        self._deliver(batch + ([Row(now, None, {}, late)] if late else []))
        self._tail = self._read_tail()
        self._deliver_evaluation(is_over)

    def _is_known(self, event):
        return self.state.is_known(event) or event.step <= self._known_up_to

    def _deliver(self, batch):
        events = [event for row in batch for event in row.events]
        if batch:
            file = self.state.add_events(events) if events else None
            self._try(lambda: self.target.send(batch, file))
            for row in batch:
                self.state.events_were_sent(row.events, row.step)
            self.sent_rows += sum(bool(row.values) for row in batch)
            self.sent_events += len(events)
        if self.state.place["lines"] != self._noted_lines or events:
            self._note()

    def _note(self):
        self.state.note()
        self._noted_lines = self.state.place["lines"]

    def _deliver_evaluation(self, is_over):
        """Of medley eval: scores and sheets, where the step that they are of is there."""
        scored, seconds = self.run.scored()
        if not scored or not (scored["step"] <= self.state.place["step"] or is_over):
            return
        step, now = scored["step"], self.state.place["step"]
        found = values.of_scores(scored.get("tasks"), "eval")
        key = hashlib.blake2b(repr(sorted(found.items())).encode() + b"%d" % step, digest_size=8).hexdigest()
        if found and key not in self.state.sent:
            self._try(lambda: self.target.send_scores(Row(step, seconds, found, [])))
            self._note_sent(key, now)
        for task, file in self.run.sheets():
            self._deliver_sheet(task, file, step, now)

    def _deliver_sheet(self, task, file, step, now):
        try:
            picture = _picture_in(file)
            if picture is None:
                return
            key = hashlib.blake2b(picture + f"{task}\0{step}".encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
        except (BadInput, OSError, Unreadable) as error:
            self._warn(f"{printable(file)} does not go along: {printable(error)}")
            return
        if key in self.state.sent:
            return
        try:
            self._try(lambda: self.target.show(task, file, step))
            self.sent_sheets += 1
        except Unreadable as error:
            self._warn(f"{printable(file)} does not go along: {printable(error)}")
        self._note_sent(key, now)

    def _note_sent(self, key, step):
        self.state.sent[key] = step
        self._note()

    def _close(self, how):
        starts = self.run.starts()
        seconds = starts[-1].ended_seconds if starts else None
        self._try(lambda: self.target.close(how, seconds))
        self._is_open = False
        self._note()

    def _try(self, act):
        """Again where the tracker is away: for as long as the run goes on, and a few times more."""
        tries, wait = 0, 5.0
        while True:
            try:
                return act()
            except TargetError as error:
                tries += self._end()[0]
                if tries >= TRIES:
                    raise
                if wait == 5.0:
                    self._warn(f"{self.target.name}: {printable(error)}; trying again")
                self._pause(wait)
                wait = min(2 * wait, 60.0)


def _picture_in(file):
    """The bytes of a PNG file, of the run's own: no link leads out of it. None where it is gone."""
    opened = logs.open_regular(file, os.O_NOFOLLOW)
    if opened is None:
        return None
    with opened:
        picture = opened.read(LARGEST_SHEET + 1)
    if len(picture) > LARGEST_SHEET or not picture.startswith(b"\x89PNG"):
        raise Unreadable("it is no picture")
    return picture


def refuse_folders_in(run, folders):
    """Trackers write beside where they are started."""
    for folder in folders:
        real = os.path.realpath(folder)
        if os.path.commonpath([real, run]) == run:
            raise BadInput(f"{printable(real)} lies in the run, into which nothing is written: start it from another directory")
