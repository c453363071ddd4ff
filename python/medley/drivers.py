"""Tasks of which one method is left to write, `draw`: the row. Passes, losses, items and scores are theirs.

The spec stays the class's own, as medley reads it there; each class says which parts it must have.
"""

import numpy as np
import torch

from medley import _medley
from medley.rows import Rows
from medley.task import Answer, Outcomes, Padded, Task

_MASK = (1 << 64) - 1
SHEET_ROWS = 8
_SHOWN_ROWS = 2048


def _mix(x):
    x = (x + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


class Row:
    """One row: its number, and random numbers of its own, the same as medley.Rows has for it."""

    def __init__(self, number, seed, longest, held_out):
        self.number, self.longest, self.held_out = number, longest, held_out
        self._state = seed

    def bits(self):
        drawn = _mix(self._state)
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        return drawn

    def uniform(self, low=0.0, high=1.0):
        return low + (high - low) * ((self.bits() >> 11) * 2.0**-53)

    def below(self, limit):
        return (self.bits() * limit) >> 64

    def coin(self):
        return self.bits() >> 63 != 0

    def uniforms(self, shape, low=0.0, high=1.0):
        """A float32 array of such numbers, of a generator of the row's own."""
        generator = np.random.Generator(np.random.Philox(key=self.bits()))
        return generator.uniform(low, high, shape).astype(np.float32)


def each_row(rows):
    """Row for each row of a range, in order."""
    for number, seed in zip(rows.numbers.tolist(), rows.seeds().tolist()):
        yield Row(number, seed, rows.longest, rows.held_out)


def _drawn_bare(cls, options):
    """Rows of a task that was never made, as the tokenizer's texts are asked for before there is a model."""
    bare = cls.__new__(cls)
    bare.options = options
    try:
        return [bare.draw(row) for row in each_row(Rows(0, 0, _SHOWN_ROWS))]
    except AttributeError as error:
        raise _medley.Error(
            f"{cls.__name__}.draw uses what __init__ sets ({error}), and its texts are asked for before a task is made: "
            "give the class a classmethod texts(cls, options)"
        ) from error


def balanced_label(number, labels):
    """A label of the row such that each aligned range of `labels` rows has every label once."""
    return (number + number // labels) % labels


def most_frequent_is_right(labels):
    """1 where the label is the most frequent one: what the best answer gets that is the same for every row."""
    labels = np.asarray(labels)
    if not len(labels):
        return np.zeros(0)
    values, times = np.unique(labels, return_counts=True)
    return (labels == values[times.argmax()]).astype(np.float64)


class ColumnsTask(Task):
    """Tensors in, one output: for ClassifyTask and RegressTask. The model's inputs are columns of the same names."""

    def inputs(self, context):
        return {
            name: context.pixels(name) if context[name].dtype == torch.uint8 else context[name] for name in self.spec["inputs"]
        }

    def output(self, context):
        name = self.spec["outputs"][0]
        return context.forward(self.inputs(context), [name])[name]

    def columns(self, drawn):
        """Of the inputs of each row, {name: array}."""
        return {name: np.stack([np.asarray(inputs[name]) for inputs in drawn]) for name in self.spec["inputs"]}


class ClassifyTask(ColumnsTask):
    """A class of tensors: draw(row) gives ({input: array}, label). The term is "class", the output [rows, classes]."""

    def draw(self, row):
        raise NotImplementedError(f"{type(self).__name__} needs draw(self, row)")

    def sample(self, rows):
        drawn, labels = [], []
        for row in each_row(rows):
            inputs, label = self.draw(row)
            drawn.append(inputs)
            labels.append(label)
        return {**self.columns(drawn), "label": np.asarray(labels, dtype=np.int64)}

    def run(self, name, context):
        return {"class": torch.nn.functional.cross_entropy(self.output(context).float(), context["label"], reduction="sum")}

    def name_of(self, label):
        return str(label)

    def evaluate(self, context, rows):
        said, right = [], []

        def look(piece):
            said.extend(self.output(piece).argmax(1).tolist())
            right.extend(piece["label"].tolist())

        context.each(rows, look)
        answers = [
            [Answer("which class?", self.name_of(a), self.name_of(b), a == b)] for a, b in zip(said[:SHEET_ROWS], right[:SHEET_ROWS])
        ]
        score = [float(a == b) for a, b in zip(said, right)]
        return Outcomes(score, trivial={"most frequent class": most_frequent_is_right(right)}, answers=answers)


class RegressTask(ColumnsTask):
    """Numbers of tensors: draw(row) gives ({input: array}, numbers). The term is "error", the score R2."""

    def draw(self, row):
        raise NotImplementedError(f"{type(self).__name__} needs draw(self, row)")

    def sample(self, rows):
        drawn, targets = [], []
        for row in each_row(rows):
            inputs, numbers = self.draw(row)
            drawn.append(inputs)
            targets.append(numbers)
        return {**self.columns(drawn), "targets": np.asarray(targets, dtype=np.float32)}

    def run(self, name, context):
        return {"error": (self.output(context) - context["targets"]).square().mean(1).sum()}

    def evaluate(self, context, rows):
        pieces, right = [], []

        def look(piece):
            pieces.append(self.output(piece).double().cpu())
            right.append(piece["targets"].double().cpu())

        context.each(rows, look)
        answers, targets = torch.cat(pieces), torch.cat(right)
        variance = (targets - targets.mean(0)).square().mean(0)
        explained = 1 - (answers - targets).square() / variance
        explained = torch.where(variance > 0, explained, torch.nan).nanmean(1)
        return Outcomes(explained, figures={f"absolute error of {i}": (answers - targets).abs()[:, i] for i in range(targets.shape[1])})


class ReplyTask(Task):
    """A reply in words: draw(row) gives (prompt, reply), or with pictures (prompt, reply, {image: [3, size, size] bytes}).

    The spec has one pass with a text_width, one term of that name with max_items, the most tokens of a reply and its end;
    inputs tokens, lengths, supervised (and images), outputs losses, special tokens <pad> and <eos>. The reply and its end
    are learned; a row's score is 1 where the model's greedy reply is the right one, word for word.
    """

    def __init__(self, context):
        self.tokenizer = context.tokenizer
        self.pad, self.eos = self.tokenizer.id("<pad>"), self.tokenizer.id("<eos>")
        self.width, self.reply_width = self.spec["passes"][0]["text_width"], self.spec["terms"][0]["max_items"]
        self.term, self.images = self.spec["terms"][0]["name"], list(self.spec["passes"][0].get("images", ()))

    def draw(self, row):
        raise NotImplementedError(f"{type(self).__name__} needs draw(self, row)")

    def _tokens(self, row):
        prompt, reply, *pictures = self.draw(row)
        ids, said = self.tokenizer.encode(prompt), self.tokenizer.encode(reply)
        if not ids or not said:
            raise _medley.Error(f"row {row.number}: {prompt!r} with the reply {reply!r}: both need a token")
        if len(said) >= self.reply_width or len(ids) + len(said) >= self.width:
            raise _medley.Error(
                f"row {row.number}: {prompt!r} with the reply {reply!r} has {len(ids) + len(said) + 1} tokens, {len(said) + 1} of them "
                f"the reply's and its end; the spec has {self.width} and {self.reply_width}"
            )
        if row.longest:
            said = (said * self.reply_width)[: self.reply_width - 1]
            ids = (ids * self.width)[: self.width - self.reply_width]
        return ids, said + [self.eos], pictures[0] if pictures else {}

    def sample(self, rows):
        tokens = np.full((len(rows), self.width), self.pad, dtype=np.int64)
        lengths, prompts, pictures = [], [], []
        for i, row in enumerate(each_row(rows)):
            ids, said, shown = self._tokens(row)
            tokens[i, : len(ids) + len(said)] = ids + said
            lengths.append(len(ids) + len(said))
            prompts.append(len(ids))
            pictures.append(shown)
        lengths, prompts = np.array(lengths, dtype=np.int64), np.array(prompts, dtype=np.int64)
        made = {"tokens": tokens, "lengths": lengths, "prompt_lengths": prompts, self.term: lengths - prompts}
        for name in self.images:
            made[name] = np.stack([shown[name] for shown in pictures])
        return made

    def _inputs(self, context, tokens, lengths):
        images = [("images", [context.image(name) for name in self.images])] if self.images else []
        return [*images, ("tokens", tokens), ("lengths", lengths)]

    def run(self, name, context):
        tokens, lengths, prompts = context["tokens"], context["lengths"], context["prompt_lengths"]
        place = torch.arange(tokens.shape[1], device=tokens.device)[None]
        learned = (place >= prompts[:, None]) & (place < lengths[:, None])
        inputs = [*self._inputs(context, tokens, lengths), ("supervised", learned.flatten().nonzero()[:, 0])]
        return {self.term: context.forward(inputs, ["losses"])["losses"].sum()}

    def evaluate(self, context, rows):
        said, right, asked = [], [], []

        def look(piece):
            tokens, prompts = piece["tokens"], piece["prompt_lengths"]
            place = torch.arange(tokens.shape[1], device=tokens.device)[None]
            prompt = tokens.masked_fill(place >= prompts[:, None], self.pad)
            made = piece.generate(self._inputs(piece, prompt, prompts), max_new_tokens=self.reply_width)
            for row, begin, end, reply in zip(tokens.tolist(), prompts.tolist(), piece["lengths"].tolist(), made.tokens):
                asked.append(self.tokenizer.decode(row[:begin]))
                right.append(self.tokenizer.decode(row[begin : end - 1]))
                said.append(self.tokenizer.decode(reply))

        context.each(rows, look)
        answers = [[Answer(q, a, b, a == b)] for q, a, b in zip(asked[:SHEET_ROWS], said, right)]
        score = [float(a == b) for a, b in zip(said, right)]
        return Outcomes(score, trivial={"most frequent reply": most_frequent_is_right(right)}, answers=answers)

    @classmethod
    def texts(cls, options):
        drawn = _drawn_bare(cls, options)
        return sorted({prompt + reply for prompt, reply, *_ in drawn})


class PictureTask(Task):
    """A picture that is drawn from another and a prompt: draw(row) gives (prompt, input, target), pictures as bytes.

    The spec has one pass with text_width, images ["seen"] and decodes_image, one term "image"; inputs images, tokens,
    lengths, outputs image, special token <pad>. The score is the error of each row.
    """

    def __init__(self, context):
        self.tokenizer, self.size = context.tokenizer, context.image[0]
        self.pad, self.width = self.tokenizer.id("<pad>"), self.spec["passes"][0]["text_width"]

    def draw(self, row):
        raise NotImplementedError(f"{type(self).__name__} needs draw(self, row)")

    def sample(self, rows):
        tokens = np.full((len(rows), self.width), self.pad, dtype=np.int64)
        lengths, inputs, targets = [], [], []
        for i, row in enumerate(each_row(rows)):
            prompt, picture, target = self.draw(row)
            ids = self.tokenizer.encode(prompt)
            if not 0 < len(ids) <= self.width:
                raise _medley.Error(f"row {row.number}: the prompt {prompt!r} has {len(ids)} tokens; the spec has {self.width}")
            if row.longest:
                ids = (ids * self.width)[: self.width]
            tokens[i, : len(ids)] = ids
            lengths.append(len(ids))
            inputs.append(picture)
            targets.append(target)
        return {"tokens": tokens, "lengths": np.array(lengths, dtype=np.int64), "seen": np.stack(inputs), "target": np.stack(targets)}

    def _drawn(self, context):
        inputs = [("images", [context.image("seen")]), ("tokens", context["tokens"]), ("lengths", context["lengths"])]
        return context.forward(inputs, ["image"])["image"]

    def score(self, context):
        return self.errors(self._drawn(context), context.pixels("target"), context.pixels("seen"))

    def errors(self, drawn, target, seen):
        """[rows]: half of the error is that of where the target differs from what is seen."""
        squares = (drawn - target).square()
        differs = (target != seen).any(1, keepdim=True).to(squares.dtype)
        of_region = (squares * differs).sum((1, 2, 3)) / (3 * differs.sum((1, 2, 3))).clamp_min(1)
        return 0.5 * squares.mean((1, 2, 3)) + 0.5 * of_region

    def run(self, name, context):
        return {"image": self.score(context).sum()}

    def evaluate(self, context, rows):
        errors, same, pictures = [], [], []

        def look(piece):
            drawn, seen, target = self._drawn(piece), piece.pixels("seen"), piece.pixels("target")
            errors.append(self.errors(drawn, target, seen))
            same.append(self.errors(seen, target, seen))
            if not pictures:
                pictures.extend((one[:SHEET_ROWS].clamp(0, 1) * 255).round().to(torch.uint8).cpu() for one in (seen, target, drawn))

        context.each(rows, look)
        made = dict(zip(("input", "target", "output"), pictures))
        return Outcomes(torch.cat(errors), trivial={"the input as it is": torch.cat(same)}, **made)

    @classmethod
    def prompts(cls):
        """All prompts, for the tokenizer."""
        return []

    @classmethod
    def texts(cls, options):
        return list(cls.prompts())


class _ChatRows:
    """Conversations as padded columns."""

    def __init__(self, context, width):
        self.context, self.width = context, width
        self.pad = context.tokenizer.id("<pad>")

    def tokens(self, conversation, longest):
        ids, learned = self.context.chat_tokens(conversation)
        if len(ids) > self.width:
            raise _medley.Error(f"a conversation has {len(ids)} tokens; the spec has {self.width}: {conversation!r}")
        if longest:
            ids = ids + [ids[-1]] * (self.width - len(ids))
            learned = list(range(1, self.width))
        return ids, learned

    def columns(self, prefix, conversations, longest):
        """The columns, and how many tokens of each row are learned."""
        rows = [self.tokens(conversation, longest) for conversation in conversations]
        lengths = np.array([len(ids) for ids, _ in rows], dtype=np.int64)
        items = np.array([len(learned) for _, learned in rows], dtype=np.int64)
        flags = [[int(place in set(learned)) for place in range(len(ids))] for ids, learned in rows]

        def padded(lists, pad):
            values = np.array([value for values in lists for value in values], dtype=np.int64)
            return Padded(values, lengths, width=self.width, pad=pad)

        return {
            prefix + "tokens": padded([ids for ids, _ in rows], self.pad),
            prefix + "flags": padded(flags, 0),
            prefix + "lengths": lengths,
        }, items

    @staticmethod
    def inputs(context, prefix):
        """What a forward is handed, and the row of each learned token."""
        learned = context[prefix + "flags"].flatten().nonzero()[:, 0]
        tokens = context[prefix + "tokens"]
        inputs = [("tokens", tokens), ("lengths", context[prefix + "lengths"]), ("supervised", learned)]
        return inputs, learned // tokens.shape[1]


class ChatTask(Task):
    """Conversations: draw(row) gives [(role, text[, learned]), ...]. What is learned is the answers that say so.

    The spec has one pass with a text_width, one term "reply" whose max_items is as much, the text option "chat"; inputs
    tokens, lengths, supervised, outputs losses and logits, special tokens <pad> and <eos>. The score is the share of
    learned tokens that the model would say.
    """

    def __init__(self, context):
        self.chats = _ChatRows(context, self.spec["passes"][0]["text_width"])

    def draw(self, row):
        raise NotImplementedError(f"{type(self).__name__} needs draw(self, row)")

    def sample(self, rows):
        columns, items = self.chats.columns("", [self.draw(row) for row in each_row(rows)], rows.longest)
        return {**columns, "reply": items}

    def run(self, name, context):
        inputs, _ = self.chats.inputs(context, "")
        return {"reply": context.forward(inputs, ["losses"])["losses"].sum()}

    def score(self, context):
        inputs, rows = self.chats.inputs(context, "")
        logits = context.forward(inputs, ["logits"])["logits"]
        right = (logits.argmax(1) == context["tokens"].flatten()[inputs[-1][1]]).double()
        count = len(context.rows)
        of_row = torch.zeros(count, dtype=torch.double, device=right.device)
        return of_row.index_add(0, rows, right) / torch.bincount(rows, minlength=count)

    @classmethod
    def texts(cls, options):
        return sorted({turn[1] for turns in _drawn_bare(cls, options) for turn in turns})


class PreferenceTask(Task):
    """The better of two replies, by DPO: draw(row) gives ([(role, text), ...], chosen, rejected).

    The spec has the passes ref_chosen and ref_rejected (reference "start", each keeps what it is called), chosen (carries
    "chosen") and rejected, all with a text_width; one term "preference"; the text option "chat", the number option "beta";
    inputs tokens, lengths, supervised, outputs losses, special tokens <pad> and <eos>. The score is 1 where the model
    prefers what was chosen by more than the starting weights do.
    """

    def __init__(self, context):
        self.chats = _ChatRows(context, self.spec["passes"][0]["text_width"])
        self.beta = context.options["beta"]

    def draw(self, row):
        raise NotImplementedError(f"{type(self).__name__} needs draw(self, row)")

    def sample(self, rows):
        sides = {"chosen_": [], "rejected_": []}
        for row in each_row(rows):
            prompt, chosen, rejected = self.draw(row)
            sides["chosen_"].append([*prompt, ("assistant", chosen, True)])
            sides["rejected_"].append([*prompt, ("assistant", rejected, True)])
        made = {}
        for prefix, conversations in sides.items():
            made.update(self.chats.columns(prefix, conversations, rows.longest)[0])
        return made

    def _likelihood(self, context, side, forward):
        """[rows]: the logarithm of how likely the reply is."""
        inputs, rows = self.chats.inputs(context, side + "_")
        losses = forward(inputs, ["losses"])["losses"]
        return torch.zeros(len(context.rows), dtype=losses.dtype, device=losses.device).index_add(0, rows, -losses)

    def run(self, name, context):
        side = name.removeprefix("ref_")
        likelihood = self._likelihood(context, side, context.forward)
        if name != "rejected":
            context.carry(name, likelihood)
            return {}
        margin = (context.carried("chosen") - context.carried("ref_chosen")) - (likelihood - context.carried("ref_rejected"))
        return {"preference": -torch.nn.functional.logsigmoid(self.beta * margin).sum()}

    def score(self, context):
        def margin(forward):
            return self._likelihood(context, "chosen", forward) - self._likelihood(context, "rejected", forward)

        start = margin(lambda inputs, wanted: context.forward_of("start", inputs, wanted))
        return (margin(context.forward) > start).double()

    @classmethod
    def texts(cls, options):
        drawn = _drawn_bare(cls, options)
        return sorted({text for prompt, *replies in drawn for text in [*replies, *(turn[1] for turn in prompt)]})
