"""A file of tasks."""
from __future__ import annotations

import numpy as np, os.path as path
import medley


def helper(x):
    spec = f"{x["a"]!r:>{x}}" rf'\d{x}'
    return (spec, [x for x in {1: 2}], '''
    spec = {''')


class Lines(medley.Task):
    """Say where a line begins."""

    spec: dict = {"name": "line", "summary": 'one' "two\x41\u00e9",
            "passes": [{"name": "look", "sizes": ({"name": "frames", "most": 0x10},)}],  # a comment
            "terms": [{"name": "error", "weight": 1_0.5e-1}], "inputs": ["series"], "outputs": ["values"],
            "options": [{"name": "noise", "value": .25}, {"name": "quick", "value": True}, {"name": "word", "words": ["a", "b"]}],
            "score": {"name": "error", "higher_is_better": False, "chance": None}}

    def sample(self, rows):
        if rows: import random; from os import (path as p, sep)
        return {}


class Other(medley.Task):
	spec = {
		"name": "other", "passes": [{"name": "a", "carries": ["c"]}, {"name": "b"}],
		"terms": [{"name": "x"}],
	}
