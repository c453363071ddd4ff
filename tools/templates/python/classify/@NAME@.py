import numpy as np
from medley.drivers import ClassifyTask, balanced_label

FRAMES, VALUES, CLASSES = 24, 2, 3


class @CLASS@(ClassifyTask):
    """Noisy series that fall, stay or rise."""

    spec = {
        "name": "@NAME@",
        "summary": "say whether a series falls, stays or rises",
        "passes": [{"name": "class"}],
        "terms": [{"name": "class"}],
        "inputs": ["numbers"],
        "outputs": ["logits"],
        "score": {"name": "accuracy", "chance": 0.3333333333333333, "low": 0, "high": 1},
    }

    def draw(self, row):
        label = balanced_label(row.number, CLASSES)
        trend = (label - 1) * (np.arange(FRAMES) - FRAMES / 2) / (FRAMES / 2)
        series = trend[:, None].astype(np.float32) + row.uniforms((FRAMES, VALUES), -1, 1)
        return {"numbers": series.ravel()}, label
