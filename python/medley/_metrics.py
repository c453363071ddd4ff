"""The records of a run's steps."""

import collections.abc
import json

import numpy as np


class Metrics(collections.abc.Sequence):
    """The lines of metrics.jsonl as dicts, oldest first: those of steps, of predictions, of an evaluation before the first step."""

    def __init__(self, file):
        with open(file, encoding="utf-8") as lines:
            self._records = [json.loads(line) for line in lines if line.endswith("\n")]

    def __len__(self):
        return len(self._records)

    def __getitem__(self, which):
        return self._records[which]

    def __repr__(self):
        return f"<medley metrics: {len(self)} records>"

    def columns(self):
        """{name: array} over the steps: "step" int64, all else float64, nan where a step has none of it. Names are the keys' paths:
        "loss", "lr", "terms.zoom.text.mean", "eval.zoom.value"."""
        steps = [record for record in self._records if "draws" in record]
        columns = {"step": np.array([record["step"] for record in steps], dtype=np.int64)}
        for row, record in enumerate(steps):
            for name, value in _numbers(record):
                if name == "step":
                    continue
                if name not in columns:
                    columns[name] = np.full(len(steps), np.nan)
                columns[name][row] = value
        return columns


def _numbers(value, path=""):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _numbers(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, (int, float)):  # True is 1
        yield path, value
