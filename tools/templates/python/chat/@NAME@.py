from medley.drivers import ChatTask


class @CLASS@(ChatTask):
    """A user asks for the number after one. Answers are learned, each with the token that ends it."""

    spec = {
        "name": "@NAME@",
        "summary": "count on",
        "passes": [{"name": "reply", "text_width": 64}],
        "terms": [{"name": "reply", "max_items": 64}],
        "options": [{"name": "chat", "text": True, "summary": "the chat format; not given: the run's"}],
        "inputs": ["tokens", "lengths", "supervised"],
        "outputs": ["losses", "logits"],
        "special_tokens": ["<pad>", "<eos>"],
        "score": {"name": "tokens right", "chance": 0, "low": 0, "high": 1},
        "rows_repeat": True,
    }

    def draw(self, row):
        number = row.below(9)
        return [("user", f"{number} and then?"), ("assistant", f"{number + 1}", True)]
