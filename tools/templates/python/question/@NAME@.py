import numpy as np
from medley.drivers import ReplyTask, balanced_label


class @CLASS@(ReplyTask):
    """A disc stands left or right of the middle."""

    spec = {
        "name": "@NAME@",
        "summary": "say on which side the disc is",
        "passes": [{"name": "side", "text_width": 32, "images": ["picture"]}],
        "terms": [{"name": "side", "max_items": 8}],
        "inputs": ["images", "tokens", "lengths", "supervised"],
        "outputs": ["losses"],
        "special_tokens": ["<pad>", "<eos>"],
        "score": {"name": "accuracy", "chance": 0.5, "low": 0, "high": 1},
    }

    def __init__(self, context):
        super().__init__(context)
        self.size = context.image[0]

    def picture(self, x, y):
        down, across = np.mgrid[: self.size, : self.size]
        inside = np.hypot(down - y * self.size, across - x * self.size) < 0.1 * self.size
        return np.where(inside, np.uint8(200), np.uint8(20)) * np.array([1, 0, 0], np.uint8)[:, None, None]

    def draw(self, row):
        right = balanced_label(row.number, 2)
        question = ["Where is the disc?", "On which side is it?"][row.below(2)]
        picture = self.picture(row.uniform(0.1, 0.4) + 0.5 * right, row.uniform(0.2, 0.8))
        return question, [" Left.", " Right."][right], {"picture": picture}

    @classmethod
    def texts(cls, options):
        return ["Where is the disc?", "On which side is it?", " Left.", " Right."]
