from medley.drivers import PreferenceTask


class @CLASS@(PreferenceTask):
    """Two replies to a question, of which the first is the better one."""

    spec = {
        "name": "@NAME@",
        "summary": "prefer the number that comes next",
        "passes": [
            {"name": "ref_chosen", "text_width": 64, "reference": "start", "keeps": ["ref_chosen"]},
            {"name": "ref_rejected", "text_width": 64, "reference": "start", "keeps": ["ref_rejected"]},
            {"name": "chosen", "text_width": 64, "carries": ["chosen"]},
            {"name": "rejected", "text_width": 64},
        ],
        "terms": [{"name": "preference"}],
        "options": [
            {"name": "beta", "value": 0.1, "low": 0.001, "high": 10, "summary": "how far from the starting weights"},
            {"name": "chat", "text": True, "summary": "the chat format; not given: the run's"},
        ],
        "inputs": ["tokens", "lengths", "supervised"],
        "outputs": ["losses"],
        "special_tokens": ["<pad>", "<eos>"],
        "score": {"name": "preferred", "chance": 0.5, "low": 0, "high": 1},
        "rows_repeat": True,
    }

    def draw(self, row):
        number = row.below(9)
        return [("user", f"{number} and then?")], f"{number + 1}", f"{(number + 2 + row.below(8)) % 10}"
