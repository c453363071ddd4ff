from medley.drivers import ReplyTask


class @CLASS@(ReplyTask):
    """Which of two numbers is larger? "3 or 8?" asks for " 8"."""

    spec = {
        "name": "@NAME@",
        "summary": "say the larger of two numbers",
        "passes": [{"name": "reply", "text_width": 32}],
        "terms": [{"name": "reply", "max_items": 8}],
        "inputs": ["tokens", "lengths", "supervised"],
        "outputs": ["losses"],
        "special_tokens": ["<pad>", "<eos>"],
        # Of these rows guessing gets a fifth; of others leave chance out, or say theirs.
        "score": {"name": "accuracy", "chance": 0.2, "low": 0, "high": 1},
        "rows_repeat": True,
    }

    def draw(self, row):
        one = row.below(10)
        other = (one + 1 + row.below(9)) % 10
        return f"{one} or {other}?", f" {max(one, other)}"
