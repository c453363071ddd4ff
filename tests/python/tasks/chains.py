"""All that a pass may use: see Chains in ../twins/twins.cc."""
import medley
import numpy as np
import torch

from drawn_lines import draw_lines


class Chains(medley.Task):
    spec = {
        "name": "chain",
        "summary": "a line once more, with what it has said of it",
        "passes": [
            {"name": "before", "keeps": ["begun"], "reference": "start"},
            {"name": "first", "carries": ["said"], "keeps": ["sign"]},
            {"name": "second"},
        ],
        "terms": [{"name": "error"}, {"name": "again", "weight": 0.5, "max_items": 3}],
        "constants": [{"name": "table", "rows": 4, "width": 24, "dtype": "float32"}],
        "options": [{"name": "noise", "value": 0.25}],
        "inputs": ["series"],
        "outputs": ["values"],
        "score": {"name": "error", "higher_is_better": False},
    }

    def __init__(self, context):
        self.noise = context.options["noise"]

    def sample(self, rows):
        series, targets = draw_lines(rows)
        counts = np.full(len(rows), 3) if rows.longest else rows.numbers % 3 + 1
        more = np.concatenate([np.arange(1, count + 1) for count in counts])
        return {"series": series, "targets": targets, "index": rows.numbers % 4, "more": medley.Ragged(more, counts), "again": counts}

    def run(self, name, context):
        series, targets = context["series"], context["targets"]
        if name == "second":
            return self.second(context, series, targets)
        values = context.forward({"series": series}, ["values"])["values"]
        if name == "before":
            context.carry("begun", values)
            return {}
        context.carry("said", values)
        context.carry("sign", values.sign())
        return {"error": (values - targets).square().mean(1).sum()}

    def second(self, context, series, targets):
        noise = medley.site(context, "noise").uniform(1, 0, self.noise).astype(np.float32)
        more = context.ragged("more")
        sums = torch.zeros(len(context.rows), dtype=series.dtype).index_add(0, more.item_row, more.values.to(series.dtype))
        said = context.carried("said")
        series = series + context.constant("table")[context["index"]] + torch.from_numpy(noise).to(series.dtype) + said.sum(1, True) * 0.125
        values = context.forward([("series", series)], ["values"])["values"]
        wanted = targets + context.carried("sign") * 0.25 + context.carried("begun") * 0.5
        return {"again": ((values - wanted).square().mean(1) * sums).sum()}

    def constant(self, name):
        return (np.arange(96, dtype=np.float32) / np.float32(96)).reshape(4, 24)

    def evaluate(self, context, rows):
        score, size = [], []

        def look(piece):
            values = piece.forward({"series": piece["series"]}, ["values"])["values"]
            score.append((values - piece["targets"]).square().mean(1))
            size.append(values.abs().sum(1))

        context.each(rows, look)
        return medley.Outcomes(torch.cat(score), figures={"size": medley.Figure(torch.cat(size), low=0)})
