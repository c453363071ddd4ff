"""A run's steps in their order, of all its logs, from a place that can be written down."""

from typing import NamedTuple

from . import logs, values


class Row(NamedTuple):
    step: int
    seconds: float  # since 1970, by the run's own files: the same whenever it is sent; None of events that came later
    values: dict
    events: list


def beginning():
    """Where reading begins. Numbers, and rows drawn by task, so that it is a line of JSON."""
    return {"metrics": 0, "lines": 0, "timing": 0, "starts": 0, "step": -1, "since": 0.0, "from": 0, "drawn": {}, "stage": 0}


class Stream:
    """`place` is behind the row that was handed out last. `take_line` gets every line of metrics.jsonl on the way."""

    def __init__(self, run, place, take_line, warn):
        self.run, self.place = run, place
        self._take_line, self._warn = take_line, warn
        self._timing = logs.Timing(run.timing, place["timing"])
        self.dropped = 0

    def _go_back_in_timing(self, starts):
        """A start cut timing.jsonl back, and its steps took other times: read anew what is behind."""
        place = self.place
        self._timing = logs.Timing(self.run.timing, 0)
        begun = max((start.step for start in starts if start.step <= place["step"]), default=0)
        spent = sum(self._spent(line) for line in self._timing.through(place["step"]) if line["step"] > begun)
        place.update({"starts": len(starts), "from": begun, "since": spent, "timing": self._timing.offset})

    @staticmethod
    def _spent(line):
        seconds = line.get("seconds")
        return float(seconds) if type(seconds) in (int, float) and 0 <= seconds < 1e9 and "transition" not in line else 0.0

    def rows(self, is_over):
        """What is complete by now. The newest step waits for its line of timing.jsonl, but where the run is over."""
        lines = logs.whole_lines(self.run.metrics, self.place["metrics"])
        current = next(lines, None)
        following = next(lines, None) if current else None
        starts = self.run.starts()  # and the weights: read after the lines that they explain
        if len(starts) != self.place["starts"]:
            self._go_back_in_timing(starts)
        stages = [entry["step"] for entry in self.run.weight_entries() if entry.get("cause") == "stage"]
        while current:
            raw, end = current
            line = logs.parsed(raw)
            row = None
            if line is not None:
                row = self._row(line, starts, stages, is_over or following is not None)
                if row is None:
                    return
            elif self.dropped < 4:
                self._warn(f"metrics.jsonl:{self.place['lines'] + 1} is damaged, and passed over")
            self.dropped += line is None
            self._take_line(raw)
            self.place.update(metrics=end, lines=self.place["lines"] + 1, timing=self._timing.offset)
            if row is not None:
                yield row
            current, following = following, next(lines, None)

    def _row(self, line, starts, stages, is_complete):
        """None where its times are still to come."""
        step, place = line["step"], self.place
        timing = list(self._timing.through(step))
        if not is_complete and not self._timing.has_reached(step):
            self._timing = logs.Timing(self.run.timing, place["timing"])  # what it took of this step comes again
            return None
        found = values.of_step(line)
        events = list(values.events_of_step(line))
        since = self._begin_start(step, starts)
        for each in timing:
            place["since"] += self._spent(each)
            events += values.events_of_timing(each)
            if each["step"] == step and "transition" not in each:
                found.update(values.of_timing(each))
        found.update(self._shares(line, stages))
        place["step"] = step
        return Row(step, since + place["since"], found, events)

    def _begin_start(self, step, starts):
        """When the start that the step belongs to began."""
        at = max((i for i, start in enumerate(starts) if start.step < step), default=0)
        begun = starts[at].step if starts else 0
        if begun != self.place["from"]:
            self.place.update({"from": begun, "since": 0.0})
        seconds = starts[at].seconds if starts else None
        return float(self.run.began(starts) if seconds is None else seconds)

    def _shares(self, line, stages):
        """Of the rows that were drawn since the stage began."""
        stage, drawn = max((step for step in stages if step < line["step"]), default=0), self.place["drawn"]
        if stage != self.place["stage"]:
            drawn = self.place["drawn"] = {}
            self.place["stage"] = stage
        for task, rows in values.rows_of(line):
            drawn[task] = drawn.get(task, 0) + rows
        total = sum(drawn.values())
        return {f"share/{task}": rows / total for task, rows in drawn.items()} if total > 0 and "transition" not in line else {}
