import medley
import numpy as np


class Boxes(medley.Task):
    spec = {
        "name": "box",
        "summary": "say where a box is",
        "passes": [{"name": "look"}],
        "terms": [{"name": "error"}],
        "inputs": ["picture"],
        "outputs": ["corner"],
        "score": {"name": "error", "higher_is_better": False},
    }

    def sample(self, rows):
        corner = rows.below(24, 2)
        place = np.arange(32)
        across = (place >= corner[:, :1]) & (place < corner[:, :1] + 8)
        down = (place >= corner[:, 1:]) & (place < corner[:, 1:] + 8)
        box = (down[:, :, None] & across[:, None, :]).astype(np.uint8) * 200
        picture = np.broadcast_to(box[:, None], (len(rows), 3, 32, 32))
        return {"picture": picture, "corner": corner.astype(np.float32) / np.float32(24)}

    def run(self, name, context):
        return {"error": self.score(context).sum()}

    def score(self, context):
        corner = context.forward({"picture": context.pixels("picture")}, "corner")["corner"]
        return (corner - context["corner"]).square().mean(1)
