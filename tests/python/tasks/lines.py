import medley
import numpy as np


class Lines(medley.Task):
    spec = {"name": "line", "summary": "say where a line begins and how steep it is", "passes": [{"name": "look"}],
            "terms": [{"name": "error"}], "inputs": ["series"], "outputs": ["values"],
            "score": {"name": "error", "higher_is_better": False}}

    def sample(self, rows):
        drawn = rows.uniform(26)
        begin, slope, noise = drawn[:, :1] * 2 - 1, drawn[:, 1:2] * 2 - 1, drawn[:, 2:] - 0.5
        series = begin + slope * (np.arange(24, dtype=np.float32) / np.float32(24)) + noise
        targets = np.concatenate([begin, slope], 1)
        return {"series": series.astype(np.float32), "targets": targets.astype(np.float32)}

    def run(self, name, context):
        return {"error": self.score(context).sum()}

    def score(self, context):
        values = context.forward({"series": context["series"]}, ["values"])["values"]
        return (values - context["targets"]).square().mean(1)
