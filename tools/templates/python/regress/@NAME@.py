import numpy as np
from medley.drivers import RegressTask

FRAMES = 24


class @CLASS@(RegressTask):
    """A noisy line: where it begins, and how steep it is."""

    spec = {
        "name": "@NAME@",
        "summary": "say where a line begins and how steep it is",
        "passes": [{"name": "look"}],
        "terms": [{"name": "error"}],
        "inputs": ["numbers"],
        "outputs": ["values"],
        "score": {"name": "R2", "chance": 0, "high": 1},
    }

    def draw(self, row):
        begin, slope = row.uniform(-1, 1), row.uniform(-1, 1)
        frames = np.arange(FRAMES, dtype=np.float32) / FRAMES
        return {"numbers": begin + slope * frames + row.uniforms(FRAMES, -0.5, 0.5)}, (begin, slope)
