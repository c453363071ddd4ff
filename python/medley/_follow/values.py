"""What stands in a run's files, under the names that trackers get: docs/follow.md has the table."""

import math
from typing import NamedTuple

MIB = 1 << 20
OF_STEPS = ("phase", "out of memory", "memory", "prediction")  # events that a step's own lines tell, once


class Event(NamedTuple):
    """Something that happened after a step."""

    step: int
    kind: str
    words: str


def _put(values, name, value, unit=1):
    if type(value) not in (int, float):
        return
    try:
        number = float(value) / unit
    except OverflowError:
        return
    if math.isfinite(number):
        values[name] = number


def _items(value):
    return value.items() if isinstance(value, dict) else ()


def _dicts(value):
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _weighted(terms):
    """The loss of a task: None where one of its terms had no items."""
    parts = [term.get("weighted") if isinstance(term, dict) else None for term in terms.values()]
    return sum(parts) if parts and all(type(part) in (int, float) for part in parts) else None


def of_step(line):
    """A line of metrics.jsonl."""
    values = {}
    _put(values, "loss", line.get("loss"))
    for task, terms in _items(line.get("terms")):
        if isinstance(terms, dict):
            _put(values, f"loss/{task}", _weighted(terms))
        for name, term in _items(terms):
            _put(values, f"loss/{task}/{name}", term.get("mean") if isinstance(term, dict) else None)
    _put(values, "optimizer/learning_rate", line.get("lr"))
    _put(values, "optimizer/gradient_norm", line.get("grad_norm"))
    values.update(of_scores(line.get("eval"), "score"))
    return values


def of_scores(tasks, above):
    """An evaluation: by task."""
    values = {}
    for task, score in _items(tasks):
        if not isinstance(score, dict):
            continue
        for name, figure in _items(score.get("figures")):
            _put(values, f"{above}/{task}/{name}", figure.get("value") if isinstance(figure, dict) else None)
        _put(values, f"{above}/{task}", score.get("value"))
        _put(values, f"{above}/{task}/low", score.get("low"))
        _put(values, f"{above}/{task}/high", score.get("high"))
        for name, text in _items(score.get("text")):
            for what in ("perplexity", "bits_per_byte"):
                _put(values, f"{above}/{task}/{name}/{what}", text.get(what) if isinstance(text, dict) else None)
    return values


def of_timing(line):
    """A step's line of timing.jsonl."""
    values = {}
    _put(values, "memory/floor", line.get("memory_now"), MIB)
    _put(values, "memory/peak", line.get("memory_peak"), MIB)
    _put(values, "speed/rows_per_second", line.get("rows_per_second"))
    for task, spent in _items(line.get("tasks")):
        if isinstance(spent, dict):
            _put(values, f"speed/operations_per_second/{task}", spent.get("operations_per_second"))
    return values


def rows_of(line):
    """(task, rows) of each draw of a step."""
    for draw in _dicts(line.get("draws")):
        if isinstance(draw.get("task"), str) and type(draw.get("rows")) is int:
            yield draw["task"], draw["rows"]


def _joined(*words):
    return " ".join(word for word in words if isinstance(word, str) and word)


def events_of_timing(line):
    step = line["step"]
    change = line.get("transition")
    if isinstance(change, dict):
        why = change.get("why")
        yield Event(step, "phase", f"{change.get('from')} -> {change.get('to')}" + (f": {why}" if why else ""))
    for overflow in _dicts(line.get("out_of_memory")):
        to = overflow.get("to")
        words = _joined(overflow.get("task"), overflow.get("phase"))
        yield Event(step, "out of memory", words + (f": goes on with {to} rows at once" if type(to) is int else ""))
    for finding in _dicts(line.get("guard")):
        yield Event(step, "memory", _joined(finding.get("words")))


def events_of_step(line):
    jump = line.get("jump")
    if isinstance(jump, dict):
        verdict = "taken" if jump.get("taken") is True else _joined("not taken,", jump.get("why"))
        yield Event(line["step"], "prediction", _joined(f"{jump.get('direction')}:", verdict))


def events_of_weights(entries):
    """Of weights.jsonl: all but what the run begins with."""
    for entry in entries:
        cause = entry.get("cause")
        if isinstance(cause, str) and cause not in ("start", "due edit", "end"):
            yield Event(entry["step"], cause, _joined(entry.get("name"), entry.get("words")))


def flattened(config, above=""):
    """{"optimizer.learning_rate": 0.001}: lists stay whole."""
    flat = {}
    for key, value in config.items():
        if isinstance(value, dict) and value:
            flat.update(flattened(value, f"{above}{key}."))
        else:
            flat[f"{above}{key}"] = value
    return flat
