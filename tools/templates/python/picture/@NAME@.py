import numpy as np
from medley.drivers import PictureTask

RED, COLOURS = (220, 30, 30), [(30, 30, 220), (30, 160, 30)]
PROMPTS = ["Draw it blue.", "Draw it green."]


class @CLASS@(PictureTask):
    """A red box stands somewhere. The model draws the picture with the box in the colour that is asked for."""

    spec = {
        "name": "@NAME@",
        "summary": "draw the box in the colour that is asked for",
        "passes": [{"name": "draw", "text_width": 16, "images": ["seen"], "decodes_image": True}],
        "terms": [{"name": "image"}],
        "inputs": ["images", "tokens", "lengths"],
        "outputs": ["image"],
        "special_tokens": ["<pad>"],
        "score": {"name": "error", "higher_is_better": False},
    }

    def draw(self, row):
        side, asked = self.size // 4, row.below(2)
        top, left = row.below(4) * side, row.below(4) * side
        picture = np.zeros((2, 3, self.size, self.size), np.uint8)  # the input and the target
        for shown, colour in zip(picture, (RED, COLOURS[asked])):
            shown[:, top : top + side, left : left + side] = np.array(colour, np.uint8)[:, None, None]
        return PROMPTS[asked], *picture

    @classmethod
    def prompts(cls):
        return PROMPTS
